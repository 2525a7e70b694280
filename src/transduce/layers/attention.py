"""Scaled dot-product and multi-head attention (paper 3.2)."""

from __future__ import annotations

import math

from jaxtyping import Bool, Float
from torch import Tensor, nn

from transduce.acceleration.attention import fused_attention
from transduce.acceleration.linear import linear
from transduce.errors import ConfigError
from transduce.layers.dropout import dropout
from transduce.layers.initialise import glorot_uniform, zeros
from transduce.layers.masks import causal_mask
from transduce.layers.tap import recording, tap


def attention_scores(
    q: Float[Tensor, "*n t k"], k: Float[Tensor, "*n s k"], mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "*n t s"]:
    """QKᵀ/√d_k, with −∞ where a key is hidden."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def attention_weights(scores: Float[Tensor, "*n t s"]) -> Float[Tensor, "*n t s"]:
    """The softmax of equation 1 over the keys: a score of −∞ has a weight of exactly 0.

    Where every key is hidden (an empty source) all weights are 0: softmax would answer NaN and spoil
    the gradients of the whole model.
    """
    nothing = (scores == -math.inf).all(-1, keepdim=True)
    return scores.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, head_i = Attention(QW_i^Q, KW_i^K, VW_i^V).

    The h projections of queries, keys and values are rows of one matrix `W_qkv`, so that
    self-attention makes all of them in one product; `W_q`, `W_k` and `W_v` are views of it.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        dropout: float = 0.0,
        name: str = "attention",
    ) -> None:
        """`d_k` and `d_v` are widths per head, d_model / heads unless given; `dropout` acts on the weights."""
        super().__init__()
        if (d_k is None or d_v is None) and d_model % heads:
            raise ConfigError(
                f"heads = {heads} does not divide d_model = {d_model}: choose heads that do, or set d_k and d_v"
            )
        self.heads, self.name, self.dropout = heads, name, dropout
        self.d_k = d_model // heads if d_k is None else d_k
        self.d_v = d_model // heads if d_v is None else d_v
        self.widths = [heads * self.d_k, heads * self.d_k, heads * self.d_v]
        self.W_qkv = nn.Linear(d_model, sum(self.widths))
        self.W_o = nn.Linear(heads * self.d_v, d_model)
        glorot_uniform(self.W_q, self.W_k, self.W_v, self.W_o.weight)
        zeros([self.W_qkv.bias, self.W_o.bias])

    @property
    def W_q(self) -> Float[Tensor, "hk d"]:
        return self.W_qkv.weight.split(self.widths)[0]

    @property
    def W_k(self) -> Float[Tensor, "hk d"]:
        return self.W_qkv.weight.split(self.widths)[1]

    @property
    def W_v(self) -> Float[Tensor, "hv d"]:
        return self.W_qkv.weight.split(self.widths)[2]

    def project(self, x: Float[Tensor, "b t d"]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of one sequence, in one product."""
        q, k, v = self.W_qkv(x).split(self.widths, dim=-1)
        return self._split(q), self._split(k), self._split(v)

    def queries(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b h t k"]:
        n = self.widths[0]
        return self._split(linear(x, self.W_qkv.weight, self.W_qkv.bias, slice(n)))

    def keys_values(self, memory: Float[Tensor, "b s d"]) -> tuple[Tensor, Tensor]:
        """Keys [b h s d_k] and values [b h s d_v] of another sequence: made once per sentence in decoding."""
        n = self.widths[0]
        made = linear(memory, self.W_qkv.weight, self.W_qkv.bias, slice(n, None))
        k, v = made.split(self.widths[1:], dim=-1)
        return self._split(k), self._split(v)

    def attend(
        self,
        q: Float[Tensor, "b h t k"],
        k: Float[Tensor, "b h s k"],
        v: Float[Tensor, "b h s v"],
        mask: Bool[Tensor, "..."] | None = None,
        *,
        causal: bool = False,
    ) -> Float[Tensor, "b t d"]:
        """Attention in every head, concatenated and multiplied by W^O. `causal` excludes `mask`."""
        rate = self.dropout if self.training else 0.0
        if recording():
            heads = self._explicit(q, k, v, causal_mask(q.shape[-2], q.device) if causal else mask, rate)
        else:
            heads = fused_attention(q, k, v, mask, causal=causal, dropout=rate)
        return tap(f"{self.name}.output", self.W_o(heads.transpose(1, 2).flatten(2)))

    def _explicit(
        self,
        q: Float[Tensor, "b h t k"],
        k: Float[Tensor, "b h s k"],
        v: Float[Tensor, "b h s v"],
        mask: Bool[Tensor, "..."] | None,
        rate: float,
    ) -> Float[Tensor, "b h t v"]:
        """The paper's equation step by step, so that a recorder sees (and may change) every part."""
        q, k, v = (tap(f"{self.name}.{part}", x) for part, x in (("queries", q), ("keys", k), ("values", v)))
        scores = tap(f"{self.name}.scores", attention_scores(q, k, mask))
        weights = dropout(tap(f"{self.name}.weights", attention_weights(scores)), rate, training=True)
        return tap(f"{self.name}.heads", weights @ v)

    def forward(
        self,
        x: Float[Tensor, "b t d"],
        memory: Float[Tensor, "b s d"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        causal: bool = False,
    ) -> Float[Tensor, "b t d"]:
        """Self-attention of `x`, or attention from `x` to `memory` where one is given (paper 3.2.3)."""
        q, k, v = self.project(x) if memory is None else (self.queries(x), *self.keys_values(memory))
        return self.attend(q, k, v, mask, causal=causal)

    def _split(self, x: Float[Tensor, "b t hk"]) -> Float[Tensor, "b h t k"]:
        rows, length, _ = x.shape
        return x.view(rows, length, self.heads, -1).transpose(1, 2)
