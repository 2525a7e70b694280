"""The length penalty: hypotheses of different lengths made comparable (paper 6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, slots=True)
class LengthPenalty:
    """score(Y) = log P(Y) / lp(|Y|), where |Y| counts the end mark.

    gnmt: lp = ((5 + |Y|) / 6)^alpha (Wu et al. 2016, equation 14); power: lp = |Y|^alpha.
    """

    alpha: float
    form: Literal["gnmt", "power"]

    def __call__(self, length: Int[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
        """lp of the given lengths, in tokens; empty output that was cut off counts as one token."""
        at_least_one = np.maximum(length, 1).astype(np.float64)
        base = (5.0 + at_least_one) / 6.0 if self.form == "gnmt" else at_least_one
        return np.asarray(base**self.alpha)

    def best(
        self, total: Float[np.ndarray, "*n"], shortest: Int[np.ndarray, "*n"], longest: Int[np.ndarray, "*n"]
    ) -> Float[np.ndarray, "*n"]:
        """No continuation of hypotheses with log-probability `total` can score higher than this.

        log P only falls with each token and lp is monotonic in the length, rising or falling with the
        sign of alpha: so the bound lies at one end of the lengths that a finished hypothesis may have.
        """
        bound: Float[np.ndarray, "*n"] = np.maximum(total / self(shortest), total / self(longest))
        return bound
