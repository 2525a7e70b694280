"""How far a pass over a large text is, for whoever waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

Tell = Callable[[str], object]
"""Takes a line that a person should see."""

EVERY = 10.0
"""Seconds between two lines."""
LOOK = 1000
"""Pairs between two looks at the clock."""


class Pass:
    """Hands on the pairs of a text, of one corpus after another, and says now and then how many of them it has seen.

    `pairs` counts them, and is only asked when there is something to say: most passes are over before.
    """

    def __init__(self, what: str, pairs: Callable[[], int], tell: Tell | None) -> None:
        self.what, self.pairs, self.tell = what, pairs, tell
        self.done, self.started, self.last = 0, 0.0, 0.0

    def __call__(self, items: Iterable[T]) -> Iterator[T]:
        if self.tell is None:
            return iter(items)
        return self._counted(items, self.tell)

    def _counted(self, items: Iterable[T], tell: Tell) -> Iterator[T]:
        if not self.done:
            self.started = self.last = time.monotonic()
        for item in items:
            self.done += 1
            if self.done % LOOK == 0 and (now := time.monotonic()) - self.last >= EVERY:
                self.last = now
                speed = self.done / (now - self.started)
                pairs = self.pairs()
                left = clock(max(0, pairs - self.done) / speed)
                tell(f"{self.what}: {self.done:,} of {pairs:,} pairs  {speed:,.0f} pairs/s  {left} left")
            yield item


def clock(seconds: float) -> str:
    """1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
