"""Dropout: what share falls, what the rest becomes, and what is left alone."""

from __future__ import annotations

import pytest
import torch

from transduce.layers.dropout import dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_each_number_falls_with_the_rate_and_the_mean_stays(rate: float) -> None:
    torch.manual_seed(1)
    y = dropout(torch.ones(997, 1009), rate, training=True)
    # Three standard deviations of a million draws.
    assert float((y == 0).double().mean()) == pytest.approx(rate, abs=3 * (rate * (1 - rate) / y.numel()) ** 0.5)
    assert y.unique().tolist() == [0.0, pytest.approx(1 / (1 - rate), rel=1e-4)]
    assert float(y.double().mean()) == pytest.approx(1, abs=0.004)


def test_neighbours_fall_independently() -> None:
    """Four numbers share a draw of 64 bits; none of them knows of the others."""
    torch.manual_seed(1)
    fallen = (dropout(torch.ones(250_000, 4), 0.5, training=True) == 0).double()
    correlation = torch.corrcoef(fallen.T) - torch.eye(4, dtype=torch.float64)
    assert float(correlation.abs().max()) < 0.01


def test_the_gradient_falls_where_the_number_fell() -> None:
    torch.manual_seed(1)
    x = torch.ones(7, 11, requires_grad=True)
    y = dropout(x, 0.3, training=True)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y)
    assert 0 < int((y == 0).sum()) < y.numel()


def test_the_same_seed_gives_the_same_mask_and_another_one_does_not() -> None:
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(dropout(torch.ones(13, 3), 0.3, training=True))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


@pytest.mark.parametrize(("rate", "training"), [(0.3, False), (0.0, True)])
def test_otherwise_nothing_happens(rate: float, training: bool) -> None:
    x = torch.randn(3, 5)
    assert dropout(x, rate, training) is x


def test_numbers_of_half_precision_stay_so() -> None:
    assert dropout(torch.ones(3, 5, dtype=torch.bfloat16), 0.1, training=True).dtype == torch.bfloat16
