"""The layer of a decoder that has no encoder beside it (Radford et al. 2018, 2019)."""

from __future__ import annotations

from functools import partial

from jaxtyping import Float
from torch import Tensor

from transduce.layers.blocks import SelfAttentionLayer
from transduce.layers.grid import Past


class CausalLayer(SelfAttentionLayer):
    """Figure 1, right, without the attention to an encoder: each position sees those before it and itself."""

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        """All positions at once."""
        x = self.residual_self(x, partial(self.self_attention, causal=True))
        return self.residual_feed_forward(x, self.feed_forward)

    def start(self, nothing: Float[Tensor, "r 0 d"]) -> Past:
        """No keys and values yet, for as many rows as `nothing` has."""
        attention = self.self_attention
        return Past.start(
            *(nothing.new_empty(len(nothing), attention.heads, 0, n) for n in (attention.d_k, attention.d_v))
        )

    def step(self, x: Float[Tensor, "r 1 d"], past: Past) -> tuple[Float[Tensor, "r 1 d"], Past]:
        """One position, with the keys and values of the earlier ones from the past."""

        def attend_to_past(y: Tensor) -> Tensor:
            nonlocal past
            q, k, v = self.self_attention.project(y)
            past = past.append(k, v)
            return self.self_attention.attend(q, past.keys, past.values)

        x = self.residual_self(x, attend_to_past)
        return self.residual_feed_forward(x, self.feed_forward), past
