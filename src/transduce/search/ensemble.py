"""Several models that write one output together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.errors import InputError
from transduce.models.contract import Rows, StepModel


@dataclass(frozen=True, slots=True)
class Parts:
    """Memory or State of each member."""

    parts: tuple[Rows, ...]

    def select(self, rows: Int[Tensor, "r"]) -> Parts:
        return Parts(tuple(part.select(rows) for part in self.parts))


class Ensemble(nn.Module):
    """A `StepModel` whose probabilities are the mean of its members' probabilities.

    The members must share both vocabularies; only the target's size can be checked here.
    """

    def __init__(self, models: Sequence[StepModel]) -> None:
        super().__init__()
        if not models:
            raise InputError("an ensemble of no models: expected one or more")
        sizes = [model.vocabulary for model in models]
        if len(set(sizes)) > 1:
            raise InputError(
                f"an ensemble of models with target vocabularies of {', '.join(map(str, sizes))} tokens: "
                f"expected the same vocabulary. Combine runs that were trained with the same tokenizer"
            )
        self.models = tuple(models)
        # Registered, so that device, mode and parameters reach them.
        self.members = nn.ModuleList(model for model in models if isinstance(model, nn.Module))
        self.vocabulary = sizes[0]
        tables = [model.max_positions for model in models if model.max_positions is not None]
        self.max_positions = min(tables, default=None)

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Parts:
        return Parts(tuple(model.encode(source, lengths) for model in self.models))

    def start(self, memory: Parts, capacity: int) -> Parts:
        return Parts(tuple(model.start(part, capacity) for model, part in zip(self.models, memory.parts, strict=True)))

    def step(self, previous: Int[Tensor, "b"], state: Parts) -> tuple[Float[Tensor, "b v"], Parts]:
        """log(1/M sum_m P_m) as logits, which are log-probabilities already."""
        total: Tensor | None = None
        states: list[Any] = []
        for model, part in zip(self.models, state.parts, strict=True):
            logits, after = model.step(previous, part)
            log_probs = F.log_softmax(logits, dim=-1, dtype=torch.float32)
            total = log_probs if total is None else torch.logaddexp(total, log_probs)
            states.append(after)
        assert total is not None
        return total - math.log(len(states)), Parts(tuple(states))
