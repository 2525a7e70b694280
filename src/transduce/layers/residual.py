"""The wrapping of every sub-layer: residual connection, dropout and layer normalisation (paper 3.1, 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from transduce.layers.dropout import dropout
from transduce.layers.tap import tap

Norm = Literal["post", "pre", "none"]


class Residual(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))), as the paper has it (`norm="post"`).

    `norm="pre"` computes x + Dropout(Sublayer(LayerNorm(x))) instead, which trains deeper stacks without
    warm-up; `norm="none"` and `residual=False` take a part away, to see what it was for.
    """

    def __init__(self, d_model: int, *, dropout: float, norm: Norm = "post", residual: bool = True, name: str = ""):
        super().__init__()
        self.dropout, self.norm_place, self.residual, self.name = dropout, norm, residual, name
        self.norm = nn.LayerNorm(d_model) if norm != "none" else nn.Identity()

    def forward(
        self, x: Float[Tensor, "b t d"], sublayer: Callable[[Float[Tensor, "b t d"]], Float[Tensor, "b t d"]]
    ) -> Float[Tensor, "b t d"]:
        y = sublayer(self.norm(x) if self.norm_place == "pre" else x)
        total = tap(f"{self.name}.sum", dropout(y, self.dropout, self.training, onto=x if self.residual else None))
        return tap(f"{self.name}.output", self.norm(total)) if self.norm_place == "post" else total
