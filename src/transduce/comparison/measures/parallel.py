"""Can it compute all places at once in training? Steps that wait for one another, and time (article 1.7, paper 4)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch

from transduce.comparison.growth import Growth, dependent_steps, growth
from transduce.data.batch import Batch
from transduce.layers.tap import record
from transduce.models.contract import Model
from transduce.tasks import Task
from transduce.text.specials import RESERVED

SIZES = (4, 8, 16, 32)
"""Tokens of source and target."""
TOKENS = 512
"""Tokens on either side of the batch that is timed, whatever their sentences' length."""
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Parallel:
    """A training pass, forward, as the length n of its sentences grows."""

    sizes: list[int]
    steps: list[int]
    """Dependent steps: the depth of the graph of the equations as the paper and the article write them."""
    growth: Growth
    seconds: list[float]
    """Forward and backward of `TOKENS` target tokens in sentences of n: the shortest of some tries."""


def measure_parallel(model: Model, task: Task[Any], vocabularies: tuple[int, int]) -> Parallel:
    """In training mode but without dropout, whose masks are not the model's. Gradients are thrown away."""
    sizes = [n for n in SIZES if model.max_positions is None or n + task.marks <= model.max_positions]
    device = next(model.parameters()).device
    batches = [_batch(task, n, TOKENS // n, vocabularies).to(device) for n in sizes]
    steps = []
    for n in sizes:
        one = _batch(task, n, 1, vocabularies).to(device)
        with record(lambda _, value: value):
            steps.append(dependent_steps(task.hidden(model, one)))
    seconds = [min(_pass(model, task, batch) for _ in range(REPEATS)) for batch in batches]
    model.zero_grad(set_to_none=True)
    return Parallel(sizes, steps, growth(sizes, steps), seconds)


def _batch(task: Task[Any], n: int, rows: int, vocabularies: tuple[int, int]) -> Batch:
    draw = torch.Generator().manual_seed(n)
    source, target = (torch.randint(RESERVED, size, (rows, n), generator=draw).tolist() for size in vocabularies)
    return task.batch(source, target, range(rows))


def _pass(model: Model, task: Task[Any], batch: Batch) -> float:
    """Seconds, forward and backward."""
    started = time.perf_counter()
    task.loss(model, batch, 0.0).backward()
    return time.perf_counter() - started
