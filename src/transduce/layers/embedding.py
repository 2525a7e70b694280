"""Token embeddings (paper 3.4)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn


class Embedding(nn.Module):
    """A vector per token, multiplied by √d_model.

    The weights start from N(0, 1/d_model), so that the scaled vectors have unit variance like the
    position vectors' order of magnitude, and the same matrix gives logits of unit variance as the
    output projection (the paper doesn't say how they start; the authors' own code does this).
    """

    def __init__(self, vocabulary: int, d_model: int) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model)
        self.weight = nn.Parameter(nn.init.normal_(torch.empty(vocabulary, d_model), std=d_model**-0.5))

    def forward(self, ids: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:
        return F.embedding(ids, self.weight) * self.scale
