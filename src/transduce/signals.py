"""Whose an interrupt is, where several processes work for one command."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_are_ours() -> Iterator[None]:
    """Processes started inside never get SIGINT: whoever starts them, and gets it, ends them.

    A terminal sends it to all of them at once. One that was still importing said so with a traceback, and was then
    waited for. What a process blocks, those that it starts block from their first moment on; here an interrupt waits
    until the block is over.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
