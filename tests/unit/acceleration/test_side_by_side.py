from __future__ import annotations

import multiprocessing
import os
import threading

import pytest

from transduce.acceleration import side_by_side
from transduce.acceleration.side_by_side import in_parts


def two_at_once(*_: object) -> None:
    """Parts that wait for each other, so that each has a thread of its own."""
    both = threading.Barrier(2)
    in_parts(lambda first, last: both.wait(20) * 0, [0, 1, 2])


@pytest.mark.skipif(not hasattr(os, "fork") or os.cpu_count() == 1, reason="no fork, or one thread for all")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    two_at_once()
    child = multiprocessing.get_context("fork").Process(target=two_at_once)
    child.start()
    child.join(60)
    child.kill()
    assert child.exitcode == 0


def test_any_numbers_of_parts_share_their_threads() -> None:
    side_by_side._pool.cache_clear()
    before = threading.active_count()
    for parts in (2, 3, 2, 4):
        in_parts(lambda first, last: 0, list(range(parts + 1)))
    assert threading.active_count() - before <= 4


def test_a_part_without_memory_is_told() -> None:
    with pytest.raises(MemoryError):
        in_parts(lambda first, last: first, [0, 1, 2])
