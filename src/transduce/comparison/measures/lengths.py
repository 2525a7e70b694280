"""What lengths can it read and write? (article 1.3 to 1.5)"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice

from transduce.comparison.subject import Subject
from transduce.errors import InputError

FAR = 3
"""A sentence so many times as long as the longest of training, validation and tests is tried."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Over all test sets."""

    tried: int
    """Tokens of a source that is `FAR` times as long as the longest."""
    accepted: bool
    """Whether it was taken."""
    longer_references: int
    """References with more tokens than their source."""
    longer_outputs: float | None
    """Share of these for which the output, too, has more tokens than the source; None where there are no such
    references."""
    cut_references: float
    """Share of all references that the task has no room for."""
    mean_source: float
    mean_output: float
    """Mean tokens."""


def measure_lengths(subject: Subject) -> Lengths:
    sources = [ids for rows in subject.sources for ids in rows]
    targets = [ids for rows in subject.targets for ids in rows]
    outputs = [output.ids for rows in subject.outputs for output in rows]
    tried = FAR * subject.planned.longest
    flood = list(islice(cycle(id for ids in sources for id in ids), tried))
    try:
        subject.decode([flood])
        accepted = True
    except InputError:
        accepted = False
    longer = [len(o) > len(s) for s, t, o in zip(sources, targets, outputs, strict=True) if len(t) > len(s)]
    every = [(test.sources, test.targets) for test in subject.tests]
    costs = [subject.translator.cost(list(s), list(t)) for s, t in every]
    cut = sum(cost.figures["cut_targets"] for cost in costs if cost is not None)
    return Lengths(
        tried,
        accepted,
        len(longer),
        sum(longer) / len(longer) if longer else None,
        cut / len(targets),
        sum(map(len, sources)) / len(sources),
        sum(map(len, outputs)) / len(outputs),
    )
