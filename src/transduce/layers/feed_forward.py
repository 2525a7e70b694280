"""Position-wise feed-forward networks (paper 3.3)."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from transduce.layers.initialise import glorot_uniform, zeros
from transduce.layers.tap import tap

Activation = Literal["relu", "gelu", "swiglu"]


class FeedForward(nn.Module):
    """FFN(x) = max(0, xW₁ + b₁)W₂ + b₂, equation 2: the same two layers at every position.

    Departures on request: `gelu` in place of max(0, ·), and `swiglu`: (swish(xW₁ + b₁) ∘ (xW₃ + b₃))W₂ + b₂.
    """

    def __init__(self, d_model: int, d_ff: int, *, activation: Activation = "relu", name: str = "feed_forward"):
        super().__init__()
        self.activation, self.name = activation, name
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)
        self.W_3 = nn.Linear(d_model, d_ff) if activation == "swiglu" else None
        layers = [layer for layer in (self.W_1, self.W_2, self.W_3) if layer is not None]
        glorot_uniform(*(layer.weight for layer in layers))
        zeros(layer.bias for layer in layers)

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        # In two dimensions the product is no view of another tensor, and ReLU can take its place.
        rows = x.flatten(0, -2)
        inner = self.W_1(rows)
        if self.W_3 is not None:
            inner = F.silu(inner) * self.W_3(rows)
        else:
            inner = F.gelu(inner) if self.activation == "gelu" else inner.relu_()
        inner = inner.unflatten(0, x.shape[:-1])
        return tap(f"{self.name}.output", self.W_2(tap(f"{self.name}.inner", inner)))
