"""How long output may become."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from torch import Tensor

from transduce.text.specials import EOS


@dataclass(frozen=True, slots=True)
class Limits:
    """Greatest lengths, per sentence of a batch."""

    tokens: Int[np.ndarray, "b"]
    """Tokens of output, not counting the end mark."""
    steps: Int[np.ndarray, "b"]
    """Predictions: one more than `tokens`, for the end mark, unless the position table ends first."""

    @classmethod
    def of(
        cls,
        source: Int[Tensor, "b s"],
        lengths: Int[Tensor, "b"],
        max_extra: int,
        max_positions: int | None,
    ) -> Limits:
        """Source length (without its end mark, if it has one) + `max_extra`, within the position table.

        The start mark takes the first position, so a table of M positions gives M predictions.
        """
        last = source.gather(1, (lengths - 1).clamp(min=0)[:, None])[:, 0]
        tokens = (lengths - (last == EOS).to(lengths.dtype) + max_extra).cpu().numpy().astype(np.int64)
        if max_positions is None:
            return cls(tokens, tokens + 1)
        return cls(np.minimum(tokens, max_positions), np.minimum(tokens + 1, max_positions))

    @property
    def capacity(self) -> int:
        """Steps that the whole batch can need."""
        return int(self.steps.max())
