"""The learning rate (paper 5.3) and its two options."""

from __future__ import annotations

import pytest

from transduce.experiment import TrainingConfig
from transduce.training.schedule import learning_rate


def test_another_peak_scales_the_papers_curve() -> None:
    paper = TrainingConfig(warmup=7)
    raised = TrainingConfig(warmup=7, learning_rate=0.5)
    assert learning_rate(7, 512, raised) == 0.5
    ratio = 0.5 / (512 * 7) ** -0.5
    for update in (1, 3, 7, 8, 31, 1000):
        assert learning_rate(update, 512, raised) == pytest.approx(ratio * learning_rate(update, 512, paper))


def test_linear_decay_reaches_zero_just_after_the_last_update() -> None:
    config = TrainingConfig(warmup=4, learning_rate=1.0, decay="linear", max_updates=11)
    rates = [learning_rate(update, 512, config) for update in range(1, 13)]
    assert rates == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0])


@pytest.mark.parametrize("max_updates", [1, 3, 4])
def test_a_run_that_ends_in_its_warm_up_divides_by_nothing(max_updates: int) -> None:
    config = TrainingConfig(warmup=4, learning_rate=1.0, decay="linear", max_updates=max_updates)
    assert [learning_rate(u, 512, config) for u in range(1, max_updates + 1)] == [
        pytest.approx(u / 4) for u in range(1, max_updates + 1)
    ]
    # A longer run that goes on from here is refused for this decay, but no rate may be negative.
    assert learning_rate(max_updates + 31, 512, config) == (0 if max_updates + 31 > 4 else 1)
