"""Self-attention restricted to the neighbourhood of each position (paper 4, Table 1)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from transduce.layers.attention import MultiHeadAttention, attention_weights


def restricted_attention(
    q: Float[Tensor, "b h t k"], k: Float[Tensor, "b h t k"], v: Float[Tensor, "b h t v"], reach: int
) -> Float[Tensor, "b h t v"]:
    """Position i sees i − reach … i + reach, r = 2·reach + 1 positions, and no other score is computed: a mask over all
    pairs would give the same and still cost n²."""
    size, length = 2 * reach + 1, q.shape[2]
    keys, values = (F.pad(x, (0, 0, reach, reach)).unfold(2, size, 1) for x in (k, v))
    scores = q[:, :, :, None] @ keys / math.sqrt(q.shape[-1])
    places = torch.arange(length, device=q.device)[:, None] + torch.arange(-reach, reach + 1, device=q.device)
    outside = (places < 0) | (places >= length)
    weights = attention_weights(scores.masked_fill(outside[:, None], -math.inf))
    return (weights @ values.transpose(-2, -1))[:, :, :, 0]


class RestrictedAttention(nn.Module):
    """`MultiHeadAttention` of a sequence to itself in which each position sees its neighbours only."""

    def __init__(self, d_model: int, heads: int, *, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.attention = MultiHeadAttention(d_model, heads)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        heads = restricted_attention(*self.attention.project(x), self.reach)
        return self.attention.W_o(heads.transpose(1, 2).flatten(2))
