"""Does word order matter to it? The same tokens in another order are another sentence (article 1.3)."""

from __future__ import annotations

import random
from dataclasses import dataclass

from transduce.comparison.subject import Subject

SENTENCES = 200
"""Sentences of the first test set at most."""


@dataclass(frozen=True, slots=True)
class Order:
    """What became of the first test set's sentences in another order."""

    sentences: int
    """Those that are no palindromes."""
    unchanged_reversed: float
    """Share of the outputs that are the same, to the token, when the source is read from its end."""
    unchanged_shuffled: float
    """The same for one random order of each source's tokens."""
    effect: float
    """Mean |Δ log p| of the reference's tokens when the source is reversed, nats. An average of words has 0."""


def measure_order(subject: Subject) -> Order:
    rows = [i for i, ids in enumerate(subject.sources[0]) if ids != ids[::-1]][:SENTENCES]
    sources = [subject.sources[0][i] for i in rows]
    targets = [subject.targets[0][i] for i in rows]
    outputs = [subject.outputs[0][i].ids for i in rows]
    backwards = [ids[::-1] for ids in sources]
    rng = random.Random(1)
    shuffled = [_shuffled(ids, rng) for ids in sources]

    def unchanged(others: list[list[int]]) -> float:
        found = subject.decode(others)
        return sum(new.ids == old for new, old in zip(found, outputs, strict=True)) / max(1, len(rows))

    pairs = zip(subject.log_probabilities(sources, targets), subject.log_probabilities(backwards, targets), strict=True)
    moves = [abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True)]
    effect = sum(moves) / max(1, len(moves))
    return Order(len(rows), unchanged(backwards), unchanged(shuffled), effect)


def _shuffled(ids: list[int], rng: random.Random) -> list[int]:
    """Another order than the given one, of a row that has one."""
    while True:
        other = rng.sample(ids, len(ids))
        if other != ids:
            return other
