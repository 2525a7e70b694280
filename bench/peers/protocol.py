"""How a contender talks to the harness: one JSON object a line, requests in, replies out.

The first line is the job. The contender answers with `ready` when it could begin, then once for each request, until
its input ends. Nothing here needs more than Python's library, since it runs in every peer's environment.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

PAD, BOS, EOS, UNK = range(4)
"""The ids that all contenders share; what follows is text."""

Json = dict[str, Any]


class Link:
    """The harness's end of the line. What libraries print goes to the log instead."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def read(self) -> Json | None:
        """The next request; None when there will be no more."""
        line = sys.stdin.readline()
        return json.loads(line) if line else None

    def requests(self) -> Iterator[Json]:
        while (request := self.read()) is not None:
            yield request

    def write(self, **reply: Any) -> None:
        self._out.write(json.dumps(reply) + "\n")
        self._out.flush()


def run(serve: Callable[[Json, Link], None]) -> None:
    """Be a contender: `serve` gets the job. What it cannot do is told as a reply, with the trace in the log."""
    link = Link()
    try:
        serve(link.read() or {}, link)
    except Exception as error:
        link.write(error=f"{type(error).__name__}: {error}"[:500])
        raise


def megabytes() -> float:
    """The most memory that this process has held (KiB on Linux, bytes on macOS)."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def fastest(candidates: list[Json], attempt: Callable[[Json, float], None]) -> Json:
    """The setting with which an attempt takes the least time. Each has an eighth of one before, unmeasured."""
    if len(candidates) == 1:
        return candidates[0]
    seconds = []
    for candidate in candidates:
        attempt(candidate, 1 / 8)
        begun = time.perf_counter()
        attempt(candidate, 1.0)
        seconds.append(time.perf_counter() - begun)
    return candidates[seconds.index(min(seconds))]
