"""How many floating-point operations training takes."""

from __future__ import annotations

from torch.utils.flop_counter import FlopCounterMode

from transduce.data.batch import Batch
from transduce.layers.tap import record
from transduce.models.contract import EncoderDecoder
from transduce.tasks.translate import Translate


def padded_tokens(batch: Batch) -> int:
    """Cells of the batch that the model computes on, source and target together."""
    return batch["source"].ids.numel() + batch["expected"].ids.numel()


def flops_per_token(model: EncoderDecoder, task: Translate, batch: Batch) -> float:
    """Operations (a multiply-add is two) of forward and backward on this batch, per padded token.

    Measured by PyTorch's counter. It does not see inside fused attention and fused recurrent cells, so the
    plain equations are computed while it counts, as under a recorder. The gradients are thrown away.
    """
    with record(lambda _, value: value), FlopCounterMode(display=False) as counter:
        task.loss(model, batch, 0.0).backward()
    model.zero_grad(set_to_none=True)
    return counter.get_total_flops() / padded_tokens(batch)
