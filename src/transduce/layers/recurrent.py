"""Recurrent layers: a state that is carried from one position to the next (article 1.4).

`elman`, `gru` and `lstm` are the equations of one step. The layers compute with PyTorch's own modules, which are
exact and faster, and take the equations step by step where a recorder listens. A tap within a step is then heard
once for each position, in the order of reading: [b 1 d] each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transduce.layers.dropout import dropout
from transduce.layers.initialise import glorot_uniform, zeros
from transduce.layers.tap import recording, tap

Cell = Literal["rnn", "gru", "lstm"]


def elman(
    x: Float[Tensor, "b 1 i"],
    state: Float[Tensor, "b 1 d"],
    W: Float[Tensor, "d i"],
    U: Float[Tensor, "d d"],
    b: Float[Tensor, "d"],
    c: Float[Tensor, "d"],
    name: str = "",
) -> Float[Tensor, "b 1 d"]:
    """h_t = g(W x_t + U h_{t−1}), g = tanh, and two biases, b and c, as PyTorch has them."""
    return tap(f"{name}.hidden", (F.linear(x, W, b) + F.linear(state, U, c)).tanh())


def gru(
    x: Float[Tensor, "b 1 i"],
    state: Float[Tensor, "b 1 d"],
    W: Float[Tensor, "ddd i"],
    U: Float[Tensor, "ddd d"],
    b: Float[Tensor, "ddd"],
    c: Float[Tensor, "ddd"],
    name: str = "",
) -> Float[Tensor, "b 1 d"]:
    """Gated recurrent unit: h_t = (1 − z) n + z h_{t−1}.

    r = σ(W_r x_t + U_r h_{t−1}) resets, z = σ(W_z x_t + U_z h_{t−1}) keeps, and the new value is
    n = tanh(W_n x_t + r (U_n h_{t−1})). Rows of W and U in the order r, z, n.
    """
    (x_r, x_z, x_n), (h_r, h_z, h_n) = F.linear(x, W, b).chunk(3, -1), F.linear(state, U, c).chunk(3, -1)
    r = tap(f"{name}.reset_gate", (x_r + h_r).sigmoid())
    z = tap(f"{name}.update_gate", (x_z + h_z).sigmoid())
    n = tap(f"{name}.new", (x_n + r * h_n).tanh())
    return tap(f"{name}.hidden", (1 - z) * n + z * state)


def lstm(
    x: Float[Tensor, "b 1 i"],
    state: Float[Tensor, "b 2 d"],
    W: Float[Tensor, "dddd i"],
    U: Float[Tensor, "dddd d"],
    b: Float[Tensor, "dddd"],
    c: Float[Tensor, "dddd"],
    name: str = "",
) -> Float[Tensor, "b 2 d"]:
    """Long short-term memory: c_t = f c_{t−1} + i g and h_t = o tanh(c_t). The state is h and c.

    i, f and o are σ(W x_t + U h_{t−1}), g is tanh of the same; rows of W and U in the order i, f, g, o.
    """
    h, memory = state[:, :1], state[:, 1:]
    i, f, g, o = (F.linear(x, W, b) + F.linear(h, U, c)).chunk(4, -1)
    i, f = tap(f"{name}.input_gate", i.sigmoid()), tap(f"{name}.forget_gate", f.sigmoid())
    g, o = tap(f"{name}.new", g.tanh()), tap(f"{name}.output_gate", o.sigmoid())
    memory = tap(f"{name}.cell", f * memory + i * g)
    return torch.cat([tap(f"{name}.hidden", o * memory.tanh()), memory], 1)


_MODULES: dict[Cell, Callable[..., nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
_EQUATIONS: dict[Cell, Callable[..., Tensor]] = {"rnn": elman, "gru": gru, "lstm": lstm}


class Recurrent(nn.Module):
    """One layer, read from left to right. Its state holds h (and the cell c of an LSTM): [b n d], n = 1 or 2."""

    def __init__(self, cell: Cell, d_in: int, d_out: int, *, name: str = "recurrent") -> None:
        super().__init__()
        self.name, self.d_out = name, d_out
        self.parts = 2 if cell == "lstm" else 1
        self.equation = _EQUATIONS[cell]
        self.module = _MODULES[cell](d_in, d_out, batch_first=True)
        W, U, b, c = self.weights
        glorot_uniform(*W.split(d_out), *U.split(d_out))
        zeros([b, c])

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """W, U and the two biases; the rows of a cell's gates below one another."""
        m = self.module
        return m.weight_ih_l0, m.weight_hh_l0, m.bias_ih_l0, m.bias_hh_l0  # type: ignore[return-value]

    def forward(
        self,
        x: Float[Tensor, "b t i"],
        lengths: Int[Tensor, "b"] | None = None,
        state: Float[Tensor, "b n d"] | None = None,
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b n d"]]:
        """h at every position (0 in the padding), and the state after each row's true last one.

        `lengths` is on the CPU; None where nothing is padded. A row without tokens keeps its `state`, which
        is 0 unless given.
        """
        if state is None:
            state = x.new_zeros(x.shape[0], self.parts, self.d_out)
        if lengths is not None and lengths.numel() and int(lengths.min()) == x.shape[1]:
            lengths = None
        return self._explicit(x, lengths, state) if recording() else self._fused(x, lengths, state)

    def _fused(self, x: Tensor, lengths: Tensor | None, state: Tensor) -> tuple[Tensor, Tensor]:
        """By PyTorch's module, which stops at the end of each packed row."""
        dtype = self.weights[0].dtype
        x, parts = x.to(dtype), tuple(part[None].contiguous() for part in state.to(dtype).unbind(1))
        before = parts if self.parts == 2 else parts[0]
        if lengths is None:
            h, after = self.module(x, before)
        else:
            # Packing knows no empty row: it gets one position, which is then taken back.
            packed = pack_padded_sequence(x, lengths.clamp(min=1), batch_first=True, enforce_sorted=False)
            h, after = self.module(packed, before)
            h, _ = pad_packed_sequence(h, batch_first=True, total_length=x.shape[1])
        last = torch.stack([part[0] for part in (after if self.parts == 2 else (after,))], 1)
        if lengths is not None and int(lengths.min()) == 0:
            empty = (lengths == 0).to(x.device)[:, None, None]
            h, last = h.masked_fill(empty, 0.0), torch.where(empty, state.to(last.dtype), last)
        return h, last

    def _explicit(self, x: Tensor, lengths: Tensor | None, state: Tensor) -> tuple[Tensor, Tensor]:
        """By the equations; past its end a row's state stands still."""
        outputs = []
        ends = None if lengths is None else lengths.to(x.device)[:, None, None]
        for t in range(x.shape[1]):
            after = self.equation(x[:, t : t + 1], state, *self.weights, self.name)
            h = after[:, :1]
            if ends is not None:
                h, after = torch.where(t < ends, h, 0.0), torch.where(t < ends, after, state)
            outputs.append(h)
            state = after
        return torch.cat(outputs, 1), state


class RecurrentStack(nn.Module):
    """Layers on one another, each reading what the one below it wrote, with dropout between them."""

    def __init__(self, cell: Cell, d_in: int, d_out: int, layers: int, *, dropout: float, name: str) -> None:
        super().__init__()
        self.dropout, self.name = dropout, name
        self.layers = nn.ModuleList(
            Recurrent(cell, d_out if i else d_in, d_out, name=f"{name}.{i}") for i in range(layers)
        )

    def forward(
        self,
        x: Float[Tensor, "b t i"],
        lengths: Int[Tensor, "b"] | None = None,
        states: Float[Tensor, "b l n d"] | None = None,
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b l n d"]]:
        """The top layer's h at every position, and each layer's state after the true last one."""
        after = []
        for i, layer in enumerate(self.layers):
            if i:
                x = dropout(tap(f"{self.name}.{i - 1}.output", x), self.dropout, self.training)
            x, state = layer(x, lengths, None if states is None else states[:, i])
            after.append(state)
        return x, torch.stack(after, 1)


class Bidirectional(nn.Module):
    """Two layers that read in both directions, each half of the width: h_j = [h_j→; h_j←]."""

    def __init__(self, cell: Cell, d_in: int, d_out: int, *, name: str) -> None:
        """`d_out` is the width of both together, an even number."""
        super().__init__()
        self.forwards = Recurrent(cell, d_in, d_out // 2, name=f"{name}.forwards")
        self.backwards = Recurrent(cell, d_in, d_out // 2, name=f"{name}.backwards")

    def forward(
        self, x: Float[Tensor, "b t i"], lengths: Int[Tensor, "b"]
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b half"]]:
        """h at every position, and h_1← (the backward layer has then read the whole row)."""
        ahead, _ = self.forwards(x, lengths)
        behind, last = self.backwards(reverse(x, lengths), lengths)
        return torch.cat([ahead, reverse(behind, lengths)], -1), last[:, 0]


def reverse(x: Tensor, lengths: Int[Tensor, "b"]) -> Tensor:
    """Each row of x [b t …] back to front, up to its length: padding stays where it is. `lengths` is on the CPU."""
    places = torch.arange(x.shape[1])
    ends = lengths[:, None]
    index = torch.where(places < ends, ends - 1 - places, places).to(x.device)
    return x.gather(1, index if x.ndim == 2 else index[..., None].expand(x.shape))
