"""How many floating-point operations training takes."""

from __future__ import annotations

from typing import Any

from torch.utils.flop_counter import FlopCounterMode

from transduce.data.batch import Batch
from transduce.layers.tap import record
from transduce.models.contract import Model
from transduce.tasks import Task


def padded_tokens(batch: Batch) -> int:
    """Cells of the batch that the model computes on, source and target together.

    `previous` is `expected` shifted by a place, and passes through the model with it.
    """
    return sum(stream.ids.numel() for name, stream in batch.streams.items() if name != "previous")


def flops_per_token(model: Model, task: Task[Any], batch: Batch) -> float:
    """Operations (a multiply-add is two) of forward and backward on this batch, per padded token.

    Measured by PyTorch's counter. It does not see inside fused attention and fused recurrent cells, so the
    plain equations are computed while it counts, as under a recorder. The gradients are thrown away.
    """
    with record(lambda _, value: value), FlopCounterMode(display=False) as counter:
        task.loss(model, batch, 0.0).backward()
    model.zero_grad(set_to_none=True)
    return counter.get_total_flops() / padded_tokens(batch)
