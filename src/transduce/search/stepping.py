"""A model taken one token further at a time, for rows that are picked, repeated and dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.acceleration import choice
from transduce.errors import TransduceError
from transduce.models.contract import StepModel
from transduce.text.specials import BOS


class Stepper:
    """Holds the model's State. Only tokens and log-probabilities of candidates cross to the CPU, where search
    keeps its books: once per step, which the test for the end needs anyway."""

    def __init__(self, model: StepModel, memory: Any, rows: int, capacity: int, device: torch.device) -> None:
        self._model = model
        self._state = model.start(memory, capacity)
        self._previous = torch.full((rows,), BOS, dtype=torch.int64, device=device)
        self._log_softmax = choice.LogSoftmax()

    def log_probs(self) -> Float[Tensor, "n v"]:
        """Of the next token of each row, in fp32. The caller may change it; the next call overwrites it."""
        logits, self._state = self._model.step(self._previous, self._state)
        return self._log_softmax(logits)

    def follow(self, parents: Int[np.ndarray, "m"], ids: Int[np.ndarray, "m"]) -> None:
        """Go on with rows `parents` (of those before), each after its token of `ids`."""
        device, rows = self._previous.device, self._previous.shape[0]
        # Reordering copies every cache, so it is skipped where each row goes on as itself.
        if len(parents) != rows or not np.array_equal(parents, np.arange(rows)):
            self._state = self._state.select(torch.from_numpy(parents).to(device))
        self._previous = torch.from_numpy(ids).to(device)


def best(log_probs: Float[Tensor, "n v"], width: int) -> tuple[Float[np.ndarray, "n w"], Int[np.ndarray, "n w"]]:
    """The `width` (at most v) best tokens of each row, best first, the lower id first among equals.

    Tokens at minus infinity are never chosen. Raises `TransduceError` for NaN.
    """
    values, ids = choice.best(log_probs, width)
    check_finite(values[:, 0])
    return values, ids


def check_finite(log_probs: Float[np.ndarray, "n"]) -> None:
    """Raise `TransduceError` where the model gave NaN, which no comparison would notice."""
    if np.isnan(log_probs).any():
        raise TransduceError(
            "the model gave logits that are not numbers (NaN). Expected finite weights and inputs: "
            "check the run's training journal, or decode in fp32"
        )
