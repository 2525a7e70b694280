"""Several models that write one output together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Generic, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.errors import InputError
from transduce.models.contract import Answerer, Labeller, Rows, StepModel

M = TypeVar("M", StepModel, Labeller, Answerer)


@dataclass(frozen=True, slots=True)
class Parts:
    """Memory or State of each member."""

    parts: tuple[Rows, ...]

    def select(self, rows: Int[Tensor, "r"]) -> Parts:
        return Parts(tuple(part.select(rows) for part in self.parts))


class _Members(nn.Module, Generic[M]):
    """Models that share both vocabularies; only the target's size can be checked here."""

    def __init__(self, models: Sequence[M]) -> None:
        super().__init__()
        if not models:
            raise InputError("an ensemble of no models: expected one or more")
        sizes = [model.vocabulary for model in models]
        if len(set(sizes)) > 1:
            raise InputError(
                f"an ensemble of models with target vocabularies of {', '.join(map(str, sizes))} tokens: "
                f"expected the same vocabulary. Combine runs that were trained with the same tokenizer"
            )
        self.models: tuple[M, ...] = tuple(models)
        # Registered, so that device, mode and parameters reach them.
        self.members = nn.ModuleList(model for model in models if isinstance(model, nn.Module))
        self.vocabulary = sizes[0]
        tables = [model.max_positions for model in models if model.max_positions is not None]
        self.max_positions = min(tables, default=None)


class Ensemble(_Members[StepModel]):
    """A `StepModel` whose probabilities are the mean of its members' probabilities."""

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Parts:
        return Parts(tuple(model.encode(source, lengths) for model in self.models))

    def start(self, memory: Parts, capacity: int) -> Parts:
        return Parts(tuple(model.start(part, capacity) for model, part in zip(self.models, memory.parts, strict=True)))

    def step(self, previous: Int[Tensor, "b"], state: Parts) -> tuple[Float[Tensor, "b v"], Parts]:
        steps = [model.step(previous, part) for model, part in zip(self.models, state.parts, strict=True)]
        return mean_log_probs([logits for logits, _ in steps]), Parts(tuple(after for _, after in steps))


class LabellerEnsemble(_Members[Labeller]):
    """Labellers whose probabilities are averaged at each place."""

    def forward(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s v"]:
        return mean_log_probs([model(source, lengths) for model in self.models])


class AnswererEnsemble(_Members[Answerer]):
    """Answerers whose probabilities are averaged."""

    def forward(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b v"]:
        return mean_log_probs([model(source, lengths) for model in self.models])


def mean_log_probs(logits: Sequence[Float[Tensor, "*n v"]]) -> Float[Tensor, "*n v"]:
    """log(1/M sum_m P_m) of M models: logits too, but log-probabilities already."""
    tables = (F.log_softmax(table, dim=-1, dtype=torch.float32) for table in logits)
    return reduce(torch.logaddexp, tables) - math.log(len(logits))
