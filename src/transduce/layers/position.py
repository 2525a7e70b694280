"""Where a token stands (paper 3.5)."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.errors import InputError

Positions = Literal["sinusoidal", "learned", "scalar", "none"]


def sinusoidal(positions: Int[Tensor, "t"], d_model: int) -> Float[Tensor, "t d"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(the same).

    The angles are taken in double precision: in single, position 5,000 is already off by 3e-4. Apple's
    device has no double, so its table is made on the CPU.
    """
    if positions.is_meta:  # torch would import half of itself, in a second, to compute without values
        return torch.empty(len(positions), d_model, device="meta")
    where = torch.device("cpu") if positions.device.type == "mps" else positions.device
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64, device=where)
    angles = positions.to(where).double()[:, None] / 10000 ** (pairs / d_model)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d_model].float().to(positions.device)


class SinusoidalPositions(nn.Module):
    """Adds the sinusoids of 3.5. No parameters and no limit: the table grows with the longest sequence seen."""

    table: Tensor

    def __init__(self, d_model: int, size: int = 256) -> None:
        super().__init__()
        self.d_model = d_model
        self.register_buffer("table", sinusoidal(torch.arange(size), d_model), persistent=False)

    def forward(self, x: Float[Tensor, "b t d"], start: int = 0) -> Float[Tensor, "b t d"]:
        end = start + x.shape[1]
        if end > len(self.table):
            size = max(end, 2 * len(self.table))
            # A table made under inference mode could not be used in training afterwards.
            with torch.inference_mode(False):
                self.table = sinusoidal(torch.arange(size, device=self.table.device), self.d_model)
        return x + self.table[start:end].to(x.dtype)


class LearnedPositions(nn.Module):
    """Adds a trained vector per position, up to `size` of them (the variant of the paper's Table 3, row E)."""

    def __init__(self, d_model: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.normal_(torch.empty(size, d_model), std=d_model**-0.5))

    def forward(self, x: Float[Tensor, "b t d"], start: int = 0) -> Float[Tensor, "b t d"]:
        end = start + x.shape[1]
        if end > len(self.weight):
            raise InputError(
                f"a sequence of {end} tokens is longer than the {len(self.weight)} learned positions "
                "(model.max_positions): shorten it, or train with sinusoidal positions, which have no limit"
            )
        return x + self.weight[start:end]


class ScalarPositions(nn.Module):
    """Adds the bare number of the position, 1, 2, 3 …, in dimension 0: the counter-example to sinusoids.

    One dimension only: the same number in all of them would vanish in the first layer normalisation.
    """

    def forward(self, x: Float[Tensor, "b t d"], start: int = 0) -> Float[Tensor, "b t d"]:
        numbers = torch.zeros(x.shape[1:], dtype=x.dtype, device=x.device)
        numbers[:, 0] = torch.arange(start + 1, start + x.shape[1] + 1)
        return x + numbers


class NoPositions(nn.Module):
    """Leaves the embeddings as they are: attention then sees a bag of words."""

    def forward(self, x: Float[Tensor, "b t d"], start: int = 0) -> Float[Tensor, "b t d"]:
        return x


def build_positions(kind: Positions, d_model: int, size: int) -> nn.Module:
    """The module that adds positions of the given kind to embeddings; `size` is used by learned ones only."""
    if kind == "sinusoidal":
        return SinusoidalPositions(d_model)
    if kind == "learned":
        return LearnedPositions(d_model, size)
    return ScalarPositions() if kind == "scalar" else NoPositions()
