"""Convolutions over positions: gated (Gehring et al. 2017) and dilated (Kalchbrenner et al. 2016).

Beyond the first and the last position of a sequence stand vectors of 0. Padding is set to 0 wherever a convolution
could see it, so that a sentence comes out the same with and without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transduce.layers.dropout import dropout
from transduce.layers.initialise import zeros
from transduce.layers.tap import recording, tap


def without_padding(x: Float[Tensor, "b t d"], mask: Bool[Tensor, "b 1 1 t"] | None) -> Float[Tensor, "b t d"]:
    """0 where the mask hides a position; x itself where there is no mask."""
    return x if mask is None else x.masked_fill(~mask[:, 0, 0, :, None], 0.0)


def scaled_sum(x: Tensor, y: Tensor) -> Tensor:
    """(x + y)·√0.5: the sum of two independent numbers of like variance has that variance too."""
    return (x + y) * math.sqrt(0.5)


def gated_linear_unit(x: Float[Tensor, "*n dd"], name: str = "gated") -> Float[Tensor, "*n d"]:
    """a ⊗ σ(b), where a is the first half of x and b the second (Dauphin et al. 2016)."""
    if not recording():
        return F.glu(x, -1)
    a, b = x.chunk(2, -1)
    return tap(f"{name}.values", a) * tap(f"{name}.gate", b.sigmoid())


@dataclass(frozen=True, slots=True)
class Past:
    """The inputs of a causal convolution so far, in room allocated once for all steps to come."""

    room: Float[Tensor, "r n i"]
    filled: int
    """Places of the room in use; the first `reach` of them stand before the sequence and are 0."""
    reach: int
    """How far back a step looks."""

    def append(self, x: Float[Tensor, "r 1 i"]) -> Past:
        """Write one step into the room (in place: the past before it must not be used again)."""
        self.room[:, self.filled] = x[:, 0]
        return Past(self.room, self.filled + 1, self.reach)

    def select(self, rows: Int[Tensor, "n"]) -> Past:
        """The rows in a new room; only what later steps can see is copied."""
        first = self.filled - self.reach
        seen = self.room[:, first : self.filled].index_select(0, rows)
        room = seen.new_empty(len(seen), self.room.shape[1] - first, self.room.shape[2])
        room[:, : self.reach] = seen
        return Past(room, self.reach, self.reach)


class Convolution(nn.Module):
    """y_t = b + Σ_j W_j x_{t + (j − c)·dilation} over the k places j = 0 … k − 1 of a kernel.

    c = k − 1 where it is causal, so that y_t sees no later x; else (k − 1)/2, for odd k.
    """

    def __init__(self, d_in: int, d_out: int, kernel: int, *, dilation: int = 1, causal: bool, gain: float):
        """Weights start from N(0, gain / (k·d_in)), biases from 0."""
        super().__init__()
        self.dilation, self.causal = dilation, causal
        self.reach = (kernel - 1) * dilation
        self.weight = nn.Parameter(torch.empty(d_out, d_in, kernel))
        self.bias = nn.Parameter(torch.empty(d_out))
        nn.init.normal_(self.weight, std=math.sqrt(gain / (kernel * d_in)))
        zeros([self.bias])

    def forward(self, x: Float[Tensor, "b t i"]) -> Float[Tensor, "b t o"]:
        """As many positions as it is given."""
        before = self.reach if self.causal else self.reach // 2
        around = F.pad(x.transpose(1, 2), (before, self.reach - before))
        return F.conv1d(around, self.weight, self.bias, dilation=self.dilation).transpose(1, 2)

    def start(self, like: Float[Tensor, "r *n"], capacity: int) -> Past:
        """What a causal one has seen before its first step, for as many rows as `like` has."""
        return Past(like.new_zeros(len(like), self.reach + capacity, self.weight.shape[1]), self.reach, self.reach)

    def step(self, x: Float[Tensor, "r 1 i"], past: Past) -> tuple[Float[Tensor, "r 1 o"], Past]:
        """One position, with the earlier ones from the past of a causal one."""
        past = past.append(x)
        window = past.room[:, past.filled - 1 - self.reach : past.filled : self.dilation]
        y = F.linear(window.transpose(1, 2).flatten(1), self.weight.flatten(1), self.bias)
        return y[:, None], past


class GatedConvolution(nn.Module):
    """v(W [x_{t−c} … x_{t+c}] + b) with dropout on its input, where v is the gated linear unit (3.2)."""

    def __init__(self, d_model: int, kernel: int, *, causal: bool, dropout: float, name: str) -> None:
        super().__init__()
        self.dropout, self.name = dropout, name
        # A gate of about ½ leaves a quarter of the variance, and dropout adds to it: hence 4·(1 − dropout) (3.5).
        self.convolution = Convolution(d_model, 2 * d_model, kernel, causal=causal, gain=4 * (1 - dropout))

    def forward(self, x: Float[Tensor, "b t d"], mask: Bool[Tensor, "b 1 1 t"] | None = None) -> Float[Tensor, "b t d"]:
        seen = without_padding(dropout(x, self.dropout, self.training), mask)
        return gated_linear_unit(self.convolution(seen), self.name)

    def step(self, x: Float[Tensor, "r 1 d"], past: Past) -> tuple[Float[Tensor, "r 1 d"], Past]:
        y, past = self.convolution.step(x, past)
        return gated_linear_unit(y, self.name), past


class DilatedBlock(nn.Module):
    """x + W_3 g(conv(g(W_1 g(x)))), where g(x) = max(0, LayerNorm(x)): ByteNet's residual block of ReLUs.

    W_1 halves the width and W_3 doubles it again, so that the convolution between them costs a quarter.
    """

    def __init__(self, d_model: int, kernel: int, *, dilation: int, causal: bool, dropout: float, name: str) -> None:
        """`d_model` is an even number; `dropout` acts on what is added to x."""
        super().__init__()
        self.dropout, self.name = dropout, name
        d = d_model // 2
        self.norm_1, self.norm_2, self.norm_3 = nn.LayerNorm(d_model), nn.LayerNorm(d), nn.LayerNorm(d)
        self.W_1, self.W_3 = nn.Linear(d_model, d), nn.Linear(d, d_model)
        # ReLU halves the mean square.
        self.convolution = Convolution(d, d, kernel, dilation=dilation, causal=causal, gain=2.0)
        nn.init.normal_(self.W_1.weight, std=math.sqrt(2 / d_model))
        nn.init.normal_(self.W_3.weight, std=math.sqrt(2 / d))
        zeros([self.W_1.bias, self.W_3.bias])

    def forward(self, x: Float[Tensor, "b t d"], mask: Bool[Tensor, "b 1 1 t"] | None = None) -> Float[Tensor, "b t d"]:
        return self._outer(x, self.convolution(without_padding(self._inner(x), mask)))

    def step(self, x: Float[Tensor, "r 1 d"], past: Past) -> tuple[Float[Tensor, "r 1 d"], Past]:
        y, past = self.convolution.step(self._inner(x), past)
        return self._outer(x, y), past

    def _inner(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t half"]:
        y = tap(f"{self.name}.narrowed", self.W_1(self.norm_1(x).relu()))
        return self.norm_2(y).relu()

    def _outer(self, x: Float[Tensor, "b t d"], y: Float[Tensor, "b t half"]) -> Float[Tensor, "b t d"]:
        y = tap(f"{self.name}.convolution", y)
        return dropout(self.W_3(self.norm_3(y).relu()), self.dropout, self.training, onto=x)
