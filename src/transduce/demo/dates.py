"""Dates as people write them, and their ISO form: a sequence task that is no translation, made by code.

    Friday, March 5th, 2021  →  2021-03-05
    5.3.21                   →  2021-03-05

Every day of 1950 to 2049 belongs to one split, so a test date was never seen in any spelling.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from functools import cache
from typing import Literal

Split = Literal["train", "valid", "test"]

_SEED = 8601
_FIRST, _LAST = date(1950, 1, 1), date(2049, 12, 31)
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FORMS = (
    "{month} {day}, {year}",
    "{month} {nth}, {year}",
    "{short} {day}, {year}",
    "{day} {month} {year}",
    "{nth} of {month} {year}",
    "the {nth} of {month}, {year}",
    "{weekday}, {month} {nth}, {year}",
    "{weekday}, {day} {short} {year}",
    "{wd} {day} {short} {year}",
    "{day}.{m}.{year}",
    "{day}.{m}.{yy}",
    "{mm}/{dd}/{year}",
    "{year}/{mm}/{dd}",
    "{day} {short} '{yy}",
)
"""Two-digit years belong to 1950 to 2049, slashes after a month to the American order: one reading each."""


@cache
def pairs(split: Split) -> list[tuple[str, str]]:
    """Spellings and ISO forms: about 69,000 for training, 1,000 each to validate and to test."""
    generator = random.Random(_SEED)
    days = [_FIRST + timedelta(n) for n in range((_LAST - _FIRST).days + 1)]
    generator.shuffle(days)
    parts: dict[Split, list[date]] = {"test": days[:1000], "valid": days[1000:2000], "train": days[2000:]}
    result = []
    for name, members in parts.items():
        for day in members:
            forms = generator.sample(_FORMS, k=1 if name != "train" else 2)
            if name == split:
                result += [(write(form, day), day.isoformat()) for form in forms]
    return list(dict.fromkeys(result))


def write(form: str, day: date) -> str:
    """A date in one of the forms."""
    month, weekday = _MONTHS[day.month - 1], _DAYS[day.weekday()]
    return form.format(
        day=day.day,
        dd=f"{day.day:02}",
        nth=_ordinal(day.day),
        m=day.month,
        mm=f"{day.month:02}",
        month=month,
        short=month[:3],
        weekday=weekday,
        wd=weekday[:3],
        year=day.year,
        yy=f"{day.year % 100:02}",
    )


def _ordinal(number: int) -> str:
    ending = "th" if 11 <= number <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
