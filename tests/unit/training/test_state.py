"""Where training stands, and when it has been patient enough."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import pytest

from transduce.errors import RunError
from transduce.training.state import TrainingState


@pytest.mark.parametrize("best", [-math.inf, -1.25, 0.0, 31.5])
def test_what_was_saved_comes_back(best: float) -> None:
    numbers = dict(zip(asdict(TrainingState()), (2, 3, 5, 7, 11, 13.5, 17.5, 19.25), strict=False))
    state = TrainingState(**numbers, best=best, best_update=23, stale=29, journal_bytes=31, regular=False, finished="x")
    text = json.dumps(state.to_json(), allow_nan=False)
    assert TrainingState.from_json(json.loads(text), "there") == state


def test_fields_of_another_version_are_refused() -> None:
    values = TrainingState().to_json()
    for wrong in ({**values, "more": 1}, {k: v for k, v in values.items() if k != "stale"}):
        with pytest.raises(RunError, match=r"there: state\.json has other fields"):
            TrainingState.from_json(wrong, "there")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("update", -1), ("update", 1.0), ("update", "1"), ("update", None), ("update", True), ("update", 10**31),
        ("epoch", [1]), ("flops", float("nan")), ("seconds", float("inf")), ("seconds", -0.5), ("best", float("nan")),
        ("best", "x"), ("regular", 1), ("finished", None), ("journal_bytes", -1), ("journal_bytes", "x" * 10_000),
    ],
)  # fmt: skip
def test_values_that_no_training_comes_to_are_refused(name: str, value: object) -> None:
    with pytest.raises(RunError, match=rf"there: state\.json has {name} = ") as caught:
        TrainingState.from_json({**TrainingState().to_json(), name: value}, "there")
    assert len(str(caught.value)) < 300


def judged(losses: list[float], min_change: float) -> tuple[list[bool], list[int]]:
    state = TrainingState()
    improved, stale = [], []
    for n, loss in enumerate(losses, start=1):
        state.update = n
        improved.append(state.judge(-loss, min_change))
        stale.append(state.stale)
    return improved, stale


@pytest.mark.parametrize(
    ("min_change", "improved", "stale"),
    [
        # An equal score is no improvement; with patience 2 the run ends before it would see 0.9.
        (0.0, [True, False, False, True], [0, 1, 2, 0]),
        # 0.1 better is not more than 0.2 better.
        (0.2, [True, False, False, False], [0, 1, 2, 3]),
        (0.05, [True, False, False, True], [0, 1, 2, 0]),
    ],
)
def test_case_79_an_equal_score_is_no_improvement(min_change: float, improved: list[bool], stale: list[int]) -> None:
    assert judged([1.0, 1.0, 1.0, 0.9], min_change) == (improved, stale)


def test_small_steps_are_measured_from_the_best_not_from_the_last() -> None:
    """0.2 better counts only when it is reached since the last best: 1.0, then 0.75 after 0.9."""
    improved, stale = judged([1.0, 0.9, 0.75, 0.7], 0.2)
    assert improved == [True, False, True, False]
    assert stale == [0, 1, 0, 1]
