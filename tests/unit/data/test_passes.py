from __future__ import annotations

import time

import pytest

from transduce.data import passes
from transduce.data.passes import Pass, clock


def test_a_pass_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([100.0, 104.0, 111.0, 112.0, 122.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(passes, "LOOK", 5)
    told: list[str] = []
    through = Pass("encoding", lambda: 70, told.append)
    assert list(through(range(12))) == list(range(12)) and list(through(range(8))) == list(range(8))
    assert told == [
        "encoding: 10 of 70 pairs  1 pairs/s  1:06 left",
        "encoding: 20 of 70 pairs  1 pairs/s  0:55 left",
    ]


def test_where_nobody_waits_nothing_is_counted() -> None:
    items = iter([1])
    assert Pass("encoding", lambda: 0, None)(items) is items


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661.2, "1:01:01")])
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
