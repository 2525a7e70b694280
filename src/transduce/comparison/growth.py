"""How a number grows with another, and how many dependent steps a computation takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from torch import Tensor

Growth = Literal["constant", "logarithmic", "linear"]

STILL = 0.05
"""A number that changes by no more than this share of its largest value is constant."""


def growth(sizes: Sequence[float], values: Sequence[float]) -> Growth:
    """Which of a, a + b·log n and a + b·n comes nearest to the values, by least squares."""
    x, y = np.asarray(sizes, float), np.asarray(values, float)
    if y.max() - y.min() <= STILL * abs(y).max():
        return "constant"
    errors: dict[Growth, float] = {"logarithmic": _error(np.log(x), y), "linear": _error(x, y)}
    return min(errors, key=lambda name: errors[name])


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """p of the power law values = c · sizes^p, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _error(x: Any, y: Any) -> float:
    return float(np.square(np.polyval(np.polyfit(x, y, 1), x) - y).sum())


def dependent_steps(result: Tensor) -> int:
    """Operations on the longest way from an input to `result`, none of which can begin before the one ahead of it has
    ended: the depth of the autograd graph, leaves not counted. What is computed side by side counts once."""
    depths: dict[Any, int] = {}
    waiting = [result.grad_fn]
    while waiting:
        node = waiting[-1]
        before = [n for n, _ in node.next_functions if n is not None and n.next_functions] if node is not None else []
        missing = [n for n in before if n not in depths]
        if missing:
            waiting += missing
        else:
            depths[waiting.pop()] = 1 + max((depths[n] for n in before), default=0)
    return depths[result.grad_fn] if result.grad_fn is not None else 0
