"""The built-in dates: right, apart, and one reading for each spelling."""

from __future__ import annotations

import re
from datetime import date

import pytest

from transduce.demo.dates import pairs, write

SPLITS = ("train", "valid", "test")


def test_spellings_by_hand() -> None:
    day = date(2021, 3, 5)
    assert write("{weekday}, {month} {nth}, {year}", day) == "Friday, March 5th, 2021"
    assert write("{mm}/{dd}/{year}", day) == "03/05/2021"
    assert write("{day}.{m}.{yy}", day) == "5.3.21"
    ordinals = [write("{nth}", date(2021, 1, n)) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)]
    assert ordinals == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st"]


def test_sizes_and_form() -> None:
    assert len(pairs("train")) > 60_000
    assert len(pairs("valid")) == len(pairs("test")) == 1000
    for split in SPLITS:
        assert all(re.fullmatch(r"(19[5-9]|20[0-4])\d-\d\d-\d\d", target) for _, target in pairs(split))


def test_no_day_is_in_two_splits() -> None:
    days = [{target for _, target in pairs(split)} for split in SPLITS]
    assert not (days[0] & days[1] or days[0] & days[2] or days[1] & days[2])


def test_each_spelling_has_one_reading() -> None:
    readings: dict[str, str] = {}
    for split in SPLITS:
        for source, target in pairs(split):
            assert readings.setdefault(source, target) == target


@pytest.mark.parametrize("split", SPLITS)
def test_the_same_every_time(split: str) -> None:
    first = list(pairs(split))  # type: ignore[arg-type]
    pairs.cache_clear()
    assert pairs(split) == first  # type: ignore[arg-type]
