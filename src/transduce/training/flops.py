"""How many floating-point operations training takes."""

from __future__ import annotations

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from transduce.data.batch import Batch
from transduce.models.contract import EncoderDecoder
from transduce.tasks.translate import Translate


def padded_tokens(batch: Batch) -> int:
    """Cells of the batch that the model computes on, source and target together."""
    return batch["source"].ids.numel() + batch["expected"].ids.numel()


def flops_per_token(model: EncoderDecoder, task: Translate, batch: Batch) -> float:
    """Operations (a multiply-add is two) of forward and backward on this batch, per padded token.

    Measured by PyTorch's counter. It does not see inside fused attention on the CPU, so the plain
    products are used while it counts. The gradients are thrown away.
    """
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        task.loss(model, batch, 0.0).backward()
    model.zero_grad(set_to_none=True)
    return counter.get_total_flops() / padded_tokens(batch)
