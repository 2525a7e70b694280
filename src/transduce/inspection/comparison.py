"""Two recordings side by side: which tensors differ, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transduce.inspection.recording import Recording


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of one tensor between two recordings."""

    name: str
    kind: Literal["equal", "values", "shape", "only in the first", "only in the second"]
    largest: float | None
    """Greatest absolute difference of two numbers in the same place; None where shapes differ."""
    where: tuple[int, ...] | None
    """Its index."""
    shapes: tuple[tuple[int, ...] | None, tuple[int, ...] | None]


def compare(first: Recording, second: Recording) -> list[Difference]:
    """Every tensor of either, in the order of the first; those that only the second has come last."""
    return list(_differences(first, second))


def _differences(first: Recording, second: Recording) -> Iterator[Difference]:
    for name, a in first.tensors.items():
        b = second.tensors.get(name)
        if b is None:
            yield Difference(name, "only in the first", None, None, (a.shape, None))
        elif a.shape != b.shape:
            yield Difference(name, "shape", None, None, (a.shape, b.shape))
        else:
            yield _difference(name, a, b)
    for name, b in second.tensors.items():
        if name not in first.tensors:
            yield Difference(name, "only in the second", None, None, (None, b.shape))


def _difference(name: str, a: np.ndarray, b: np.ndarray) -> Difference:
    # Scores of hidden keys are −∞ in both: equal, though their difference is no number.
    apart = np.abs(np.subtract(a, b, out=np.zeros_like(a), where=a != b, dtype=np.float32))
    if not apart.size:
        return Difference(name, "equal", 0.0, None, (a.shape, b.shape))
    where = np.unravel_index(int(apart.argmax()), apart.shape)
    largest = float(apart[where])
    return Difference(name, "values" if largest else "equal", largest, tuple(map(int, where)), (a.shape, b.shape))
