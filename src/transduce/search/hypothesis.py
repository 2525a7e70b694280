"""What search finds, and what it holds while it is searching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from transduce.search.length_penalty import LengthPenalty


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One output for one sentence. All logarithms are natural."""

    ids: tuple[int, ...]
    """Target tokens, without start and end mark."""
    score: float
    """Log-probability divided by the length penalty: what hypotheses are compared by."""
    log_probability: float
    """log P(Y | X) under the model, the end mark included if there is one."""
    token_log_probabilities: tuple[float, ...]
    """Of each token of `ids`, then of the end mark if there is one."""
    finished: bool
    """False if a greatest length cut the output off, before an end mark."""
    limited: bool = False
    """Whether it has an end mark only since the greatest length was near: the model gave the end little probability,
    and something better was still unfinished."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The unfinished hypotheses of a batch, all of the same length t, one a row.

    The rows of a sentence lie together, best first; sentences keep their order.
    """

    sentences: Int[np.ndarray, "n"]
    """Which sentence of the batch each row belongs to."""
    tokens: Int[np.ndarray, "n t"]
    log_probs: Float[np.ndarray, "n t"]
    """Of each token."""
    totals: Float[np.ndarray, "n"]
    """Sum of `log_probs`. In float64, so that adding a token keeps any order that the float32
    log-probabilities of a row had."""

    @classmethod
    def start(cls, sentences: Int[np.ndarray, "n"]) -> Paths:
        n = len(sentences)
        return cls(sentences, np.zeros((n, 0), np.int64), np.zeros((n, 0)), np.zeros(n))

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def length(self) -> int:
        """Tokens written so far, t."""
        return self.tokens.shape[1]

    def extend(
        self, parents: Int[np.ndarray, "m"], ids: Int[np.ndarray, "m"], log_probs: Float[np.ndarray, "m"]
    ) -> Paths:
        """Rows `parents`, each with one token more."""
        return Paths(
            self.sentences[parents],
            np.concatenate([self.tokens[parents], ids[:, None]], 1),
            np.concatenate([self.log_probs[parents], log_probs[:, None]], 1),
            self.totals[parents] + log_probs,
        )

    def where(self, keep: Int[np.ndarray, "m"]) -> Paths:
        """The given rows only."""
        return Paths(self.sentences[keep], self.tokens[keep], self.log_probs[keep], self.totals[keep])

    def hypothesis(self, row: int, penalty: LengthPenalty, end: float | None) -> Hypothesis:
        """Row `row` as a result: finished with an end mark of log-probability `end`, or cut off (None)."""
        ends = () if end is None else (end,)
        each = (*self.log_probs[row].tolist(), *ends)
        total = float(self.totals[row]) + sum(ends)
        score = total / float(penalty(np.array(len(each))))
        return Hypothesis(tuple(self.tokens[row].tolist()), score, total, each, end is not None)
