"""Recurrent layers: the equations by hand, as PyTorch has them, and where a padded row ends."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from transduce.layers.recurrent import Bidirectional, Cell, Recurrent, RecurrentStack, elman, gru, lstm, reverse
from transduce.layers.tap import record

BATCH, TIME, WIDTH_IN, WIDTH = 3, 7, 5, 11
LENGTHS = torch.tensor([7, 2, 0])


def numbers(*rows: list[float]) -> Tensor:
    return torch.tensor(rows)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def recorded(layer: nn.Module, *inputs: Tensor | None) -> tuple[Tensor, Tensor]:
    with record(lambda _, value: value):
        return layer(*inputs)


def layer_of(cell: Cell) -> Recurrent:
    layer = Recurrent(cell, WIDTH_IN, WIDTH)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return layer


def test_elman_by_hand() -> None:
    W, U = numbers([1.0, 2.0], [0.0, -1.0]), numbers([0.5, 0.0], [1.0, 1.0])
    h = elman(numbers([[0.1, 0.2]]), numbers([[0.4, -0.6]]), W, U, torch.tensor([0.01, 0.02]), torch.zeros(2))
    # W x = (0.5, -0.2) and U h = (0.2, -0.2)
    assert h[0, 0].tolist() == pytest.approx([math.tanh(0.71), math.tanh(-0.38)])


def test_gru_by_hand() -> None:
    # One unit; rows r, z, n.
    W, U = numbers([1.0], [2.0], [3.0]), numbers([0.5], [-1.0], [2.0])
    h = gru(numbers([[0.1]]), numbers([[0.4]]), W, U, torch.zeros(3), torch.tensor([0.0, 0.0, 0.2]))
    r, z = sigmoid(0.1 + 0.2), sigmoid(0.2 - 0.4)
    n = math.tanh(0.3 + r * (0.8 + 0.2))
    assert h.item() == pytest.approx((1 - z) * n + z * 0.4)


def test_lstm_by_hand() -> None:
    # One unit; rows i, f, g, o.
    W, U = numbers([1.0], [2.0], [3.0], [4.0]), numbers([0.5], [-1.0], [2.0], [0.0])
    h, c = lstm(numbers([[0.1]]), numbers([[0.4], [0.7]]), W, U, torch.zeros(4), torch.zeros(4))[0, :, 0].tolist()
    i, f, g, o = sigmoid(0.1 + 0.2), sigmoid(0.2 - 0.4), math.tanh(0.3 + 0.8), sigmoid(0.4)
    assert c == pytest.approx(f * 0.7 + i * g)
    assert h == pytest.approx(o * math.tanh(c))


@pytest.mark.parametrize("cell", get_args(Cell))
@pytest.mark.parametrize("padded", [False, True])
def test_the_equations_equal_torchs_modules(cell: Cell, padded: bool) -> None:
    layer = layer_of(cell)
    x, state = torch.randn(BATCH, TIME, WIDTH_IN), torch.randn(BATCH, layer.parts, WIDTH)
    lengths = LENGTHS if padded else None
    for given in (state, None):
        for a, b in zip(layer(x, lengths, given), recorded(layer, x, lengths, given), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-6)


@pytest.mark.parametrize("cell", get_args(Cell))
def test_a_row_ends_with_its_last_token_and_an_empty_one_where_it_began(cell: Cell) -> None:
    layer = layer_of(cell)
    x, state = torch.randn(BATCH, TIME, WIDTH_IN), torch.randn(BATCH, layer.parts, WIDTH)
    h, last = layer(x, LENGTHS, state)
    assert h.shape == (BATCH, TIME, WIDTH) and last.shape == state.shape
    for row, length in enumerate(LENGTHS.tolist()):
        assert (h[row, length:] == 0).all()
        if length:
            alone, end = layer(x[row : row + 1, :length], None, state[row : row + 1])
            torch.testing.assert_close(h[row : row + 1, :length], alone, rtol=0, atol=1e-6)
            torch.testing.assert_close(last[row : row + 1], end, rtol=0, atol=1e-6)
            assert torch.equal(last[row, 0], h[row, length - 1])
    assert torch.equal(last[2], state[2])


@pytest.mark.parametrize("cell", get_args(Cell))
def test_a_stack_equals_torchs(cell: Cell) -> None:
    stack = RecurrentStack(cell, WIDTH_IN, WIDTH, 2, dropout=0.0, name="encoder")
    theirs = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[cell](WIDTH_IN, WIDTH, 2, batch_first=True)
    with torch.no_grad():
        for mine, other in zip(stack.parameters(), theirs.parameters(), strict=True):
            other.copy_(mine)
    x = torch.randn(BATCH, TIME, WIDTH_IN)
    h, states = stack(x)
    expected, last = theirs(x)
    torch.testing.assert_close(h, expected, rtol=0, atol=1e-6)
    parts = last if cell == "lstm" else (last,)
    torch.testing.assert_close(states, torch.stack([p.transpose(0, 1) for p in parts], 2), rtol=0, atol=1e-6)


def test_a_bidirectional_layer_equals_torchs() -> None:
    layer = Bidirectional("gru", WIDTH_IN, 2 * WIDTH, name="encoder.0")
    theirs = nn.GRU(WIDTH_IN, WIDTH, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for mine, other in zip(layer.parameters(), theirs.parameters(), strict=True):
            other.copy_(mine)
    x, lengths = torch.randn(2, TIME, WIDTH_IN), torch.tensor([7, 3])
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
    expected, last = theirs(packed)
    h, first = layer(x, lengths)
    unpacked, _ = nn.utils.rnn.pad_packed_sequence(expected, batch_first=True)
    torch.testing.assert_close(h, unpacked, rtol=0, atol=1e-6)
    torch.testing.assert_close(first, last[1], rtol=0, atol=1e-6)


def test_reversal_by_hand() -> None:
    ids = torch.tensor([[3, 5, 7, 11], [13, 17, 0, 0], [0, 0, 0, 0]])
    lengths = torch.tensor([4, 2, 0])
    turned = reverse(ids, lengths)
    assert turned.tolist() == [[11, 7, 5, 3], [17, 13, 0, 0], [0, 0, 0, 0]]
    vectors = torch.randn(3, 4, 5)
    assert torch.equal(reverse(vectors, lengths)[0], vectors[0].flip(0))
    assert torch.equal(reverse(reverse(vectors, lengths), lengths), vectors)


def test_every_gate_of_every_position_is_heard() -> None:
    layer = layer_of("lstm")
    x = torch.randn(BATCH, TIME, WIDTH_IN)
    seen: dict[str, list[Tensor]] = {}

    def listen(name: str, value: Tensor) -> Tensor:
        seen.setdefault(name.removeprefix("recurrent."), []).append(value)
        return value

    with record(listen):
        h, _ = layer(x)
    assert list(seen) == ["input_gate", "forget_gate", "new", "output_gate", "cell", "hidden"]
    assert {len(values) for values in seen.values()} == {TIME}
    assert torch.equal(torch.cat(seen["hidden"], -2), h)
