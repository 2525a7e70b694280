"""Attention of one decoder state to the states of a source, before scaled dot products (article 1.6)."""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transduce.layers.attention import attention_weights
from transduce.layers.initialise import glorot_uniform
from transduce.layers.tap import tap

Score = Literal["additive", "dot", "general"]


def additive_scores(
    queries: Float[Tensor, "b t k"], keys: Float[Tensor, "b s k"], v: Float[Tensor, "k"]
) -> Float[Tensor, "b t s"]:
    """v · tanh(W s_i + U h_j), where the queries are W s and the keys U h (Bahdanau et al. 2014)."""
    return (queries[:, :, None] + keys[:, None]).tanh() @ v


def dot_scores(queries: Float[Tensor, "b t k"], keys: Float[Tensor, "b s k"]) -> Float[Tensor, "b t s"]:
    """s_i · h_j, not scaled; with keys W h it is the general form (Luong et al. 2015)."""
    return queries @ keys.transpose(1, 2)


class SourceAttention(nn.Module):
    """C_i = Σ_j α_ij h_j: one context vector for each query s_i, with α_ij the softmax over j of a score.

    The score is additive, v · tanh(W s_i + U h_j); dot, s_i · h_j; or general, s_i · W h_j. There is one head;
    its taps have the axis of heads all the same: [b 1 t s].
    """

    def __init__(self, score: Score, d_model: int, *, name: str = "attention") -> None:
        """`d_model` is the width of s and of h."""
        super().__init__()
        self.name = name
        self.W_query = _matrix(d_model) if score == "additive" else nn.Identity()
        self.W_key = _matrix(d_model) if score != "dot" else nn.Identity()
        self.v = nn.Parameter(nn.init.normal_(torch.empty(d_model), std=d_model**-0.5)) if score == "additive" else None

    def keys(self, states: Float[Tensor, "b s d"]) -> Float[Tensor, "b s d"]:
        """What of the score depends on the source only: made once per sentence."""
        return self.W_key(states)

    def forward(
        self,
        queries: Float[Tensor, "b t d"],
        keys: Float[Tensor, "b s d"],
        values: Float[Tensor, "b s d"],
        mask: Bool[Tensor, "b 1 1 s"] | None = None,
    ) -> Float[Tensor, "b t d"]:
        """The context of each query. A hidden position weighs exactly 0; where all are hidden the context is 0."""
        q = tap(f"{self.name}.queries", self.W_query(queries))
        k, h = tap(f"{self.name}.keys", keys), tap(f"{self.name}.values", values)
        scores = (dot_scores(q, k) if self.v is None else additive_scores(q, k, self.v))[:, None]
        scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        alpha = tap(f"{self.name}.weights", attention_weights(tap(f"{self.name}.scores", scores)))
        return tap(f"{self.name}.context", alpha[:, 0] @ h)


def _matrix(d_model: int) -> nn.Linear:
    linear = nn.Linear(d_model, d_model, bias=False)
    glorot_uniform(linear.weight)
    return linear
