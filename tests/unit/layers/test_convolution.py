"""Convolutions: hand-made numbers, edges and padding, one step after another, and how their weights start."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tests.contracts.variations import close, shaken
from transduce.layers.convolution import (
    Convolution,
    DilatedBlock,
    GatedConvolution,
    gated_linear_unit,
    scaled_sum,
    without_padding,
)
from transduce.layers.masks import padding_mask
from transduce.layers.tap import record

BATCH, TIME, WIDTH = 3, 11, 6
LENGTHS = torch.tensor([11, 5, 0])


def sequence(*numbers: float) -> Tensor:
    """One row of vectors of width 1."""
    return torch.tensor(numbers, dtype=torch.float32)[None, :, None]


def by_hand(dilation: int, *, causal: bool) -> Convolution:
    """y = 7 + 1·x_first + 10·x_middle + 100·x_last of the three places it sees."""
    layer = Convolution(1, 1, 3, dilation=dilation, causal=causal, gain=1.0)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, 10.0, 100.0]))
        layer.bias.fill_(7.0)
    return layer


@pytest.mark.parametrize(
    ("dilation", "causal", "expected"),
    [
        (1, False, [217, 328, 439, 50]),
        (2, False, [317, 427, 38, 49]),
        (1, True, [107, 217, 328, 439]),
        (2, True, [107, 207, 317, 427]),
        (5, False, [17, 27, 37, 47]),
    ],
)
def test_by_hand(dilation: int, causal: bool, expected: list[float]) -> None:
    layer = by_hand(dilation, causal=causal)
    y = layer(sequence(1, 2, 3, 4))
    assert y[0, :, 0].tolist() == expected
    assert layer.reach == 2 * dilation


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (3, 4), (5, 2)])
def test_steps_equal_the_whole_and_rows_are_picked_repeated_and_dropped(kernel: int, dilation: int) -> None:
    layer = Convolution(WIDTH, 5, kernel, dilation=dilation, causal=True, gain=1.0)
    x, rows = torch.randn(BATCH, TIME, WIDTH), torch.tensor([2, 0, 0, 2])
    expected, past = layer(x), layer.start(x, TIME)
    for t in range(7):
        y, past = layer.step(x[:, t : t + 1], past)
        close(y[:, 0], expected[:, t])
    picked, same = past.select(rows), past.select(torch.arange(BATCH))
    for t in range(7, TIME):
        y, picked = layer.step(x[rows, t : t + 1], picked)
        other, same = layer.step(x[:, t : t + 1], same)
        close(y[:, 0], expected[rows, t])
        close(other[:, 0], expected[:, t])


def test_a_past_keeps_its_room_and_a_selection_of_it_copies_only_what_can_be_seen() -> None:
    layer = by_hand(2, causal=True)
    past = layer.start(torch.zeros(3, 5), 13)
    room = past.room.data_ptr()
    for number in range(1, 8):
        _, past = layer.step(torch.full((3, 1, 1), float(number)), past)
    assert past.room.shape == (3, 17, 1) and past.room.data_ptr() == room
    picked = past.select(torch.tensor([1]))
    assert picked.filled == 4 and picked.room[0, :4, 0].tolist() == [4, 5, 6, 7]
    # Room for the 13 - 7 steps to come.
    assert picked.room.shape == (1, 10, 1)


def test_a_sum_is_scaled_so_that_its_variance_stays() -> None:
    assert scaled_sum(torch.tensor(3.0), torch.tensor(5.0)).item() == pytest.approx(8 / math.sqrt(2))
    x, y = torch.randn(2, 10_007)
    assert scaled_sum(x, y).var().item() == pytest.approx(1, abs=0.05)


def test_a_gate_is_heard_and_changes_nothing_by_that() -> None:
    x = torch.randn(BATCH, TIME, 2 * WIDTH)
    heard: dict[str, Tensor] = {}
    with record(lambda name, value: heard.setdefault(name, value)):
        recorded = gated_linear_unit(x, "encoder.0")
    close(recorded, gated_linear_unit(x, "encoder.0"))
    assert list(heard) == ["encoder.0.values", "encoder.0.gate"]
    assert torch.equal(heard["encoder.0.values"] * heard["encoder.0.gate"], recorded)


def test_padding_becomes_0_whatever_stood_there() -> None:
    x = torch.full((BATCH, TIME, WIDTH), math.nan)
    x[0] = 1.0
    x[1, :5] = 1.0
    mask = padding_mask(LENGTHS, TIME, x.device)
    assert without_padding(x, mask).sum((1, 2)).tolist() == [TIME * WIDTH, 5 * WIDTH, 0]
    assert without_padding(x, None) is x


@pytest.mark.parametrize("kind", ["gated", "dilated"])
def test_a_padded_row_comes_out_as_it_does_alone(kind: str) -> None:
    layer = shaken(
        GatedConvolution(WIDTH, 3, causal=False, dropout=0.0, name="encoder.0")
        if kind == "gated"
        else DilatedBlock(WIDTH, 3, dilation=2, causal=False, dropout=0.0, name="encoder.0")
    )
    x = torch.randn(BATCH, TIME, WIDTH)
    together = layer(x, padding_mask(LENGTHS, TIME, x.device))
    close(together[1:2, :5], layer(x[1:2, :5]))
    # Without the mask the layer would have read what stands in the padding.
    assert (layer(x)[1, 4] - together[1, 4]).abs().max() > 1e-3


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_gated_convolution_starts_so_that_variance_is_kept(dropout: float) -> None:
    d, kernel = 127, 5
    layer = GatedConvolution(d, kernel, causal=False, dropout=dropout, name="encoder.0").train()
    assert layer.convolution.weight.std().item() == pytest.approx(math.sqrt(4 * (1 - dropout) / (kernel * d)), rel=0.02)
    # Small numbers, for which a gate is about a half.
    x = 0.1 * torch.randn(7, 101, d)
    assert (layer(x)[:, 2:-2].var() / x.var()).item() == pytest.approx(1, abs=0.05)


def test_a_dilated_block_by_its_formula() -> None:
    block: Any = shaken(DilatedBlock(WIDTH, 3, dilation=2, causal=True, dropout=0.0, name="decoder.1"))
    x = torch.randn(BATCH, TIME, WIDTH)

    def activated(y: Tensor, number: int) -> Tensor:
        norm = getattr(block, f"norm_{number}")
        return F.layer_norm(y, y.shape[-1:], norm.weight, norm.bias).clamp(min=0)

    narrow = activated(x, 1) @ block.W_1.weight.T + block.W_1.bias
    seen = F.pad(activated(narrow, 2), (0, 0, 4, 0))
    weights = block.convolution.weight
    convolved = sum(seen[:, 2 * j : 2 * j + TIME] @ weights[:, :, j].T for j in range(3)) + block.convolution.bias
    assert convolved.shape == (BATCH, TIME, WIDTH // 2)
    close(block(x), x + activated(convolved, 3) @ block.W_3.weight.T + block.W_3.bias)
