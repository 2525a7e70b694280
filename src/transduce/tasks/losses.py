"""Losses over the target vocabulary."""

from __future__ import annotations

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from transduce.text.specials import PAD


def label_smoothed_cross_entropy(
    logits: Float[Tensor, "n v"], expected: Int[Tensor, "n"], smoothing: float
) -> Float[Tensor, ""]:
    """Sum over the tokens of −Σ_v q(v) log p(v), in nats; padding adds nothing (paper 5.4).

    q is 1 − ε on the expected token plus ε spread evenly over all V tokens, the expected one included.
    """
    return F.cross_entropy(logits.float(), expected, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
