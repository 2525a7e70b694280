"""SIGINT and SIGTERM end training at the next update, after a save."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Which signal asked for an end; 0 while none did."""

    signal: int = 0


@contextmanager
def catch_signals() -> Iterator[Interruption]:
    """Note the first SIGINT or SIGTERM; a second one acts as it would have without us.

    Python lets only the main thread set handlers: elsewhere the block catches nothing.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        interruption.signal = number
        signal.signal(number, before[number])

    for number in before:
        signal.signal(number, note)
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
