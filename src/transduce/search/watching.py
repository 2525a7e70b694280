"""What a beam search shows to someone who watches it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class Step:
    """The candidates of one step: by sentence, the most probable first."""

    sentences: Int[np.ndarray, "c"]
    """Of the batch, whose candidate it is."""
    parents: Int[np.ndarray, "c"]
    """Row that it goes on from: a place among the candidates that lived on from the step before, or at the first step
    a sentence."""
    tokens: Int[np.ndarray, "c"]
    log_probs: Float[np.ndarray, "c"]
    """Of the token, in nats."""
    scores: Float[np.ndarray, "c"]
    """Of the whole hypothesis: its log-probability divided by `penalty`."""
    penalty: float
    ends: Bool[np.ndarray, "c"]
    """End marks among the best `beam`: these finish a hypothesis."""
    chosen: Bool[np.ndarray, "c"]
    """The best `beam` without an end mark."""
    fits: Bool[np.ndarray, "c"]
    """The chosen ones that the greatest length allows."""
    lives: Bool[np.ndarray, "c"]
    """Those of them that go on: all of a sentence, or none where its search is over."""


Watcher = Callable[[Step], Collection[int] | None]
"""Is shown each step. It may name sentences of the batch that nobody waits for any more: their search ends there."""

Watch = Callable[[Sequence[int]], Watcher]
"""Makes the watcher of one search, given the places of its sentences among all that are decoded."""
