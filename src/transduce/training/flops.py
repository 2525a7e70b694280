"""How many floating-point operations training takes."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

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

    Measured by PyTorch's formulas. They do not see inside fused attention and fused recurrent cells, so the
    plain equations are computed while it counts, as under a recorder. The gradients are thrown away.
    """
    with record(lambda _, value: value), OperationCounter() as counter:
        task.loss(model, batch, 0.0).backward()
    model.zero_grad(set_to_none=True)
    return counter.operations / padded_tokens(batch)


class OperationCounter(TorchDispatchMode):
    """What PyTorch's `FlopCounterMode` counts in all, without its import of PyTorch's compiler (68 MB)."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func.overloadpacket)
        if formula is not None:
            self.operations += formula(*args, **(kwargs or {}), out_val=out)
        return out
