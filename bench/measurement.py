"""Contenders that take turns, what each said, and who could not take part."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.environments import TORCH, AbsentError, python
from bench.workers import EndedError, Worker, free_megabytes


@dataclass
class Measurement:
    """Contenders, what they said each round, and who could not take part."""

    rounds: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def begin(self, workers: list[Worker], name: str, start: Callable[[], Worker]) -> None:
        """Start a contender, unless it cannot be had or memory is short; then say why."""
        heaviest = max((worker.most for worker in workers), default=0.0)
        if free_megabytes() < 1.5 * heaviest:
            self.absent[name] = f"left out: {free_megabytes():,.0f} MB of memory are free"
        else:
            try:
                workers.append(start())
            except (AbsentError, EndedError) as error:
                self.absent[name] = str(error)
        print(f"bench: {name}: {self.absent.get(name, 'ready')}", file=sys.stderr)

    def turn(self, workers: list[Worker], worker: Worker, *, kept: bool = True, **request: Any) -> None:
        """One turn of a contender. One that cannot go on is left out from here."""
        try:
            reply = worker.ask(**request)
        except EndedError as error:
            self.absent[worker.name] = str(error)
            self.rounds.pop(worker.name, None)
            workers.remove(worker)
            worker.close()
            return
        self.told[worker.name] = worker.told
        self.most[worker.name] = worker.most or reply.get("megabytes", 0.0)
        if kept:
            self.rounds.setdefault(worker.name, []).append(reply)


def wanted(given: argparse.Namespace, name: str) -> bool:
    return not given.only or any(name.lower().startswith(word.lower()) for word in given.only)


def interpreter(given: argparse.Namespace, environment: str) -> Path | str:
    """The Python of a peer: its own environment's, or the one that this runs in where none may be installed."""
    if given.here or environment == TORCH:
        return sys.executable
    return python(environment, given.cache, given.pip_options)
