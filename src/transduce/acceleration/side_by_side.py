"""Native code on several threads: it holds no lock of Python's, so they do run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch

Part = Callable[[int, int], int | None]
"""Computes the rows from a first to a last; an answer other than 0 says that memory is short."""


def threads_worth(most: int) -> int:
    """As many as PyTorch may use, up to how many pay."""
    return max(1, min(torch.get_num_threads(), most))


def in_even_parts(run: Part, rows: int, most: int) -> None:
    """`run` for all rows, shared evenly by at most so many threads. Raises MemoryError."""
    threads = threads_worth(most)
    in_parts(run, [rows * i // threads for i in range(threads + 1)])


def in_parts(run: Part, bounds: Sequence[int]) -> None:
    """`run` for the rows between bounds, a thread for each. Raises MemoryError."""
    parts = len(bounds) - 1
    failed = run(*bounds) if parts == 1 else any(_pool().map(run, bounds[:-1], bounds[1:]))
    if failed:
        raise MemoryError


@cache
def _pool() -> ThreadPoolExecutor:
    """One for all, whatever the number of parts: it starts no more threads than were ever needed at once."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="native")


if hasattr(os, "register_at_fork"):
    # A forked child has none of the threads, and would wait for them.
    os.register_at_fork(after_in_child=_pool.cache_clear)
