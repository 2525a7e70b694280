"""What a demonstration comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from transduce.comparison.document import Table

SEED = 20170612


@dataclass(frozen=True, slots=True)
class Lines:
    """A chart of one number against another; a line is a label, xs and ys."""

    title: str
    x: str
    y: str
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]]
    log: bool = False
    ticks: Sequence[str] = ()
    """Names of the places 0, 1, 2 … of x, where it is no number."""


@dataclass(frozen=True, slots=True)
class Map:
    """Words as points in a plane, by group."""

    title: str
    points: Sequence[tuple[str, str, float, float]]
    """Group, word, x and y of each."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A statement of the article, and what comes out when the real layers compute it."""

    title: str
    section: str
    """Of the article."""
    says: str
    """What it states."""
    rule: str
    """When a measurement bears that out."""
    measured: str
    holds: bool
    """What the rule makes of the figures."""
    table: Table
    charts: Sequence[Lines | Map] = ()


@contextmanager
def seeded(seed: int = SEED) -> Iterator[None]:
    """The same random numbers each time, and for others as if there had been none."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
