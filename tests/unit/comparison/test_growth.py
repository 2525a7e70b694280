"""Fits on numbers that are known, and the depth of graphs that can be counted."""

from __future__ import annotations

import pytest
import torch

from transduce.comparison.growth import Growth, dependent_steps, exponent, growth


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([173, 173, 173, 173], "constant"),
        ([100, 101, 102, 103], "constant"),
        ([3, 4, 5, 6], "logarithmic"),
        ([10, 19, 32, 41], "logarithmic"),
        ([26, 46, 86, 166], "linear"),
        ([5, 9, 18, 33], "linear"),
    ],
)
def test_growth(values: list[float], expected: Growth) -> None:
    assert growth([4, 8, 16, 32], values) == expected


def test_exponents_of_a_power_law() -> None:
    sizes = [3, 5, 11, 17]
    assert exponent(sizes, [7 * n**2 for n in sizes]) == pytest.approx(2)
    assert exponent(sizes, [4 * n for n in sizes]) == pytest.approx(1)


def test_steps_that_wait_for_one_another_are_counted_and_those_side_by_side_once() -> None:
    x = torch.ones(3, requires_grad=True)
    assert dependent_steps(x.exp()) == 1
    assert dependent_steps(x.exp().sin().exp()) == 3
    assert dependent_steps(x.exp() + x.sin()) == 2
    assert dependent_steps(x.exp().sin() + x) == 3
    assert dependent_steps(x) == dependent_steps(torch.ones(3)) == 0


def test_a_diamond_of_many_paths_is_counted_in_a_moment() -> None:
    x = torch.ones(3, requires_grad=True)
    for _ in range(1000):
        x = x + x
    assert dependent_steps(x) == 1000
