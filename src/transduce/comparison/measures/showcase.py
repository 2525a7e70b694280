"""What it makes of some sentences, to be read side by side with the others' work."""

from __future__ import annotations

from dataclasses import dataclass

from transduce.comparison.subject import Subject, TestSet
from transduce.demo.corpus import SHOWCASE

SENTENCES = 12
"""Sentences that are shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A sentence and what is wanted of it; `note` says what 水 is in it."""

    source: str
    reference: str
    note: str


def shown(tests: list[TestSet]) -> list[Shown]:
    """The demo's sentences where the first test set begins with them; else its own, spread evenly."""
    test = tests[0]
    if test.sources[: len(SHOWCASE)] == [item.source for item in SHOWCASE]:
        return [Shown(item.source, item.reference, item.sense) for item in SHOWCASE]
    places = sorted({i * len(test.sources) // SENTENCES for i in range(SENTENCES)})
    return [Shown(test.sources[i], test.targets[i], "") for i in places]


def measure_showcase(subject: Subject, sentences: list[Shown]) -> list[str]:
    return [found.text for found in subject.translator.translate([sentence.source for sentence in sentences])]
