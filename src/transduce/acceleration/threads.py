"""Threads of native code, and idle ones that sleep: where they spin, one may keep the one it waits for off its core.

OpenMP's threads wait by spinning. Where anything else runs on the machine, each product then takes as
long as the scheduler needs to notice: measured on two cores beside one busy process, a training step of
the demo took 980 ms spinning and 300 ms sleeping. Results don't change. Its plain twin is doing nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache


def wait_passively() -> None:
    """Ask OpenMP to wait by sleeping, unless the user's environment says how. Before torch is imported."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def in_parts(run: Callable[[int, int], int], bounds: Sequence[int]) -> None:
    """`run(first, last)` for the rows between bounds, side by side. Raises MemoryError where one returns other than 0.

    Native code holds no lock of Python's, so threads do run side by side.
    """
    parts = len(bounds) - 1
    failed = run(*bounds) if parts == 1 else any(_pool(parts).map(run, bounds[:-1], bounds[1:]))
    if failed:
        raise MemoryError


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="native")
