"""Positions: facts 1 to 3 (paper 3.5), as the layer adds them."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from transduce.layers.position import SinusoidalPositions

D_MODEL = 512


def table(positions: int, start: int = 0, d_model: int = D_MODEL) -> Tensor:
    """What the layer adds to each of some positions, [positions, d_model], in double precision."""
    return SinusoidalPositions(d_model)(torch.zeros(1, positions, d_model), start)[0].double()


def frequencies() -> Tensor:
    """The angle by which each pair of dimensions turns from one position to the next."""
    sines, cosines = table(2)[1, 0::2], table(2)[1, 1::2]
    return torch.atan2(sines, cosines)


def test_fact_1_first_four_dimensions_of_the_first_four_positions() -> None:
    expected = torch.tensor(
        [
            [0.000, 1.000, 0.000, 1.000],
            [0.841, 0.540, 0.822, 0.570],
            [0.909, -0.416, 0.936, -0.351],
            [0.141, -0.990, 0.245, -0.970],
        ]
    )
    torch.testing.assert_close(table(4)[:, :4].float(), expected, rtol=0, atol=5e-4)


@pytest.mark.parametrize("d_model", [512, 7])
def test_fact_1_formula(d_model: int) -> None:
    # Beyond the size that the layer begins with, and with an odd width, whose last sine has no cosine.
    start, positions = 250, 23
    found = table(positions, start, d_model)
    for row, position in enumerate(range(start, start + positions)):
        for i in range(d_model):
            angle = position / 10000 ** (2 * (i // 2) / d_model)
            expected = math.cos(angle) if i % 2 else math.sin(angle)
            assert found[row, i].item() == pytest.approx(expected, abs=1e-6)


def test_fact_2_wavelengths_run_geometrically_from_2_pi_to_10000_times_2_pi() -> None:
    wavelengths = 2 * math.pi / frequencies()
    assert wavelengths[0].item() == pytest.approx(2 * math.pi, rel=1e-6)
    assert wavelengths[-1].item() == pytest.approx(10000 * 2 * math.pi, rel=0.05)
    ratios = wavelengths[1:] / wavelengths[:-1]
    torch.testing.assert_close(ratios, ratios[:1].expand_as(ratios), rtol=1e-5, atol=0)
    assert ratios[0].item() > 1


def test_fact_2_values_stay_within_one_at_any_position() -> None:
    for start in (0, 1_000, 100_003):
        values = table(1_009, start, d_model=31)
        assert values.abs().max() <= 1


@pytest.mark.parametrize("k", [1, 3, 17, 101])
def test_fact_3_one_matrix_moves_every_position_by_k(k: int) -> None:
    angles = k * frequencies()
    turns = [torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]], dtype=torch.float64) for a in angles]
    matrix = torch.block_diag(*turns)
    positions = table(211 + k)
    torch.testing.assert_close(positions[:-k] @ matrix.T, positions[k:], rtol=0, atol=1e-5)
