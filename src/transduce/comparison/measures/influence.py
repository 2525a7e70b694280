"""What each token of the source is to each token that is written: it is replaced by another, and all is told anew."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.comparison.subject import Subject

EACH = 100
"""Sentences of like length, between two powers of 2, that are looked into at most, spread evenly over all test sets."""
_BLOCK = 20
"""Sentences whose distributions are kept at a time."""
_DRAWS = 100


@dataclass(frozen=True, slots=True)
class Influence:
    """Of one sentence with n tokens, for the m tokens of its reference that the task can write."""

    test: int
    row: int
    """Its place among the test sets' sentences."""
    lost: Float[Tensor, "n m"]
    """Nats by which log p of the i-th token of the reference falls when another stands for the j-th of the source."""
    moved: Float[Tensor, "n m"]
    """How far all that may be written at i moves then: KL divergence, nats."""


def measure_influence(subject: Subject) -> list[Influence]:
    """The reference is told to the model as far as it goes, so that all are asked the same."""
    by_length: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for test, rows in enumerate(subject.sources):
        for row, ids in enumerate(rows):
            if ids:
                by_length[(len(ids) - 1).bit_length()].append((test, row))
    # The shortest first, so that a block has little padding.
    picked = [place for length in sorted(by_length) for place in spread(by_length[length], EACH)]
    pool = [id for rows in subject.sources for ids in rows for id in ids]
    rng = random.Random(1)
    return [
        influence
        for start in range(0, len(picked), _BLOCK)
        for influence in _of_block(subject, picked[start : start + _BLOCK], pool, rng)
    ]


def spread(places: Sequence[tuple[int, int]], most: int) -> Sequence[tuple[int, int]]:
    """As many of them at most, as far apart as can be."""
    count = len(places)
    return places if count <= most else [places[i * count // most] for i in range(most)]


def _of_block(
    subject: Subject, places: Sequence[tuple[int, int]], pool: Sequence[int], rng: random.Random
) -> list[Influence]:
    sources = [subject.sources[test][row] for test, row in places]
    targets = [subject.targets[test][row] for test, row in places]
    original = {i: table for i, table, _ in subject.distributions(sources, targets)}
    whose = [(i, j) for i, ids in enumerate(sources) for j in range(len(ids))]
    replaced = [replace_one(sources[i], j, pool, rng) for i, j in whose]
    shape = [(len(ids), len(original[i])) for i, ids in enumerate(sources)]
    lost, moved = ([torch.zeros(size) for size in shape] for _ in range(2))
    for k, table, ids in subject.distributions(replaced, [targets[i] for i, _ in whose]):
        i, j = whose[k]
        less = original[i] - table
        lost[i][j] = less.gather(-1, ids[:, None])[:, 0]
        moved[i][j] = (original[i].exp() * less).sum(-1)
    return [Influence(*place, lost[i], moved[i]) for i, place in enumerate(places)]


def replace_one(ids: Sequence[int], j: int, pool: Sequence[int], rng: random.Random) -> list[int]:
    """The ids with another at j, drawn from the pool; the same where the pool has hardly another."""
    other = ids[j]
    for _ in range(_DRAWS):
        other = rng.choice(pool)
        if other != ids[j]:
            break
    return [*ids[:j], other, *ids[j + 1 :]]
