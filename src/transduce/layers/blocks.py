"""The encoder layer and the decoder layer of Figure 1 (paper 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TypedDict

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transduce.layers.attention import MultiHeadAttention
from transduce.layers.feed_forward import Activation, FeedForward
from transduce.layers.grid import FixedPast, Past
from transduce.layers.residual import Norm, Residual


class BlockSizes(TypedDict):
    """The plain numbers of a layer, as both kinds of layer take them."""

    d_model: int
    d_ff: int
    heads: int
    d_k: int | None
    d_v: int | None
    dropout: float
    attention_dropout: float
    activation: Activation
    norm: Norm
    residual: bool


@dataclass(frozen=True, slots=True)
class KeyValues:
    """Keys [r h s d_k] and values [r h s d_v] of a sequence that queries attend to."""

    keys: Float[Tensor, "r h s k"]
    values: Float[Tensor, "r h s v"]

    def select(self, rows: Int[Tensor, "n"]) -> KeyValues:
        return KeyValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))


def _attention(sizes: BlockSizes, name: str) -> MultiHeadAttention:
    return MultiHeadAttention(
        sizes["d_model"],
        sizes["heads"],
        d_k=sizes["d_k"],
        d_v=sizes["d_v"],
        dropout=sizes["attention_dropout"],
        name=name,
    )


def _residual(sizes: BlockSizes, name: str) -> Residual:
    return Residual(
        sizes["d_model"], dropout=sizes["dropout"], norm=sizes["norm"], residual=sizes["residual"], name=name
    )


class SelfAttentionLayer(nn.Module):
    """Self-attention, then feed-forward, each wrapped in a residual; how they are used is for the kinds of layer."""

    def __init__(self, sizes: BlockSizes, name: str) -> None:
        super().__init__()
        self.self_attention = _attention(sizes, f"{name}.self")
        self.feed_forward = FeedForward(
            sizes["d_model"], sizes["d_ff"], activation=sizes["activation"], name=f"{name}.feed_forward"
        )
        self.residual_self = _residual(sizes, f"{name}.self.residual")
        self.residual_feed_forward = _residual(sizes, f"{name}.feed_forward.residual")


class EncoderLayer(SelfAttentionLayer):
    """Figure 1, left: every position sees every other."""

    def forward(self, x: Float[Tensor, "b s d"], mask: Bool[Tensor, "..."] | None) -> Float[Tensor, "b s d"]:
        x = self.residual_self(x, partial(self.self_attention, mask=mask))
        return self.residual_feed_forward(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Figure 1, right: masked self-attention, attention to the encoder, feed-forward."""

    def __init__(self, sizes: BlockSizes, name: str) -> None:
        super().__init__()
        self.self_attention = _attention(sizes, f"{name}.self")
        self.cross_attention = _attention(sizes, f"{name}.cross")
        self.feed_forward = FeedForward(
            sizes["d_model"], sizes["d_ff"], activation=sizes["activation"], name=f"{name}.feed_forward"
        )
        self.residual_self = _residual(sizes, f"{name}.self.residual")
        self.residual_cross = _residual(sizes, f"{name}.cross.residual")
        self.residual_feed_forward = _residual(sizes, f"{name}.feed_forward.residual")

    def forward(
        self, x: Float[Tensor, "b t d"], memory: Float[Tensor, "b s d"], mask: Bool[Tensor, "..."] | None
    ) -> Float[Tensor, "b t d"]:
        """All target positions at once, each seeing only those before it and itself."""
        x = self.residual_self(x, partial(self.self_attention, causal=True))
        x = self.residual_cross(x, partial(self.cross_attention, memory=memory, mask=mask))
        return self.residual_feed_forward(x, self.feed_forward)

    def step(
        self,
        x: Float[Tensor, "b n d"],
        past: Past | FixedPast,
        seen: Bool[Tensor, "b 1 n p"] | None,
        memory: KeyValues,
        mask: Bool[Tensor, "..."] | None,
    ) -> tuple[Float[Tensor, "b n d"], Past | FixedPast]:
        """One target position of n hypotheses a sentence; `seen` tells each its own of the tokens so far, this one
        included."""

        def attend_to_past(y: Tensor) -> Tensor:
            nonlocal past
            q, k, v = self.self_attention.project(y)
            past = past.append(k, v)
            return self.self_attention.attend(q, past.keys, past.values, seen)

        def attend_to_memory(y: Tensor) -> Tensor:
            q = self.cross_attention.queries(y)
            return self.cross_attention.attend(q, memory.keys, memory.values, mask)

        x = self.residual_self(x, attend_to_past)
        x = self.residual_cross(x, attend_to_memory)
        return self.residual_feed_forward(x, self.feed_forward), past
