"""The runs of a server and who may use them, without HTTP."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, TypeVar

from transduce.devices import usable_cores
from transduce.serving import languages
from transduce.serving.batcher import Batcher
from transduce.serving.config import ServingConfig
from transduce.serving.job import Call, Pending, late
from transduce.serving.metrics import Metrics
from transduce.serving.refusal import Refusal
from transduce.translator import Translator

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Served:
    """A run as clients see it."""

    name: str
    translator: Translator
    source: str
    """Canonical code of its language, as `target`."""
    target: str
    folder: Path | None = None
    """Where the run lies; no client is told."""

    @classmethod
    def of(cls, name: str, translator: Translator, folder: Path | None = None) -> Served:
        experiment = translator.experiment
        source, target = map(languages.canonical, (experiment.source_language, experiment.target_language))
        return cls(name, translator, source, target, folder)

    @property
    def translates(self) -> bool:
        """Whether it makes texts of texts; any other run is here to be looked into."""
        return self.translator.task.command == "translate"

    @property
    def does(self) -> str:
        """What it is for, in a few words."""
        kind, task = self.translator.experiment.model.kind, self.translator.task.name
        if not self.translates:
            return f'{kind}, trained to "{task}": look inside'
        return f"{self.source} to {self.target}, {kind}" if self.source and self.target else kind


class Service:
    """Runs by name. They are only ever looked up among those that were loaded; no name becomes a path."""

    def __init__(self, runs: Sequence[Served], config: ServingConfig) -> None:
        self.config, self.metrics, self.stopping = config, Metrics(), False
        self.runs = {run.name: run for run in runs}
        # Each run computes on its share of the cores; where there are fewer cores than runs, some wait.
        cores = BoundedSemaphore(max(1, min(len(runs), usable_cores())))
        self._batchers = {
            run.name: Batcher(
                run.name, run.translator, queue=config.queue, batch=config.batch, cores=cores, metrics=self.metrics
            )
            for run in runs
        }
        self._keys = [sha256(key.encode()).digest() for key in config.keys]

    def most(self, run: Served) -> int:
        """Translations of one text that a run gives at most: one where its task looks for no other."""
        return self.config.nbest if "nbest" in run.translator.task.decoding else 1

    @property
    def translating(self) -> list[Served]:
        return [run for run in self.runs.values() if run.translates]

    def run(self, name: str) -> Served:
        if name not in self.runs:
            raise Refusal(404, f"there is no run of this name here; there are: {', '.join(self.runs)}")
        return self.runs[name]

    def choose(self, source: str, target: str) -> Served:
        """The first run between two languages. A source of "auto" is told by the target, where that leaves one."""
        runs = self.translating
        if not runs:
            raise Refusal(400, "there is no run here that translates")
        if source.strip().lower() != "auto":
            runs = [run for run in runs if run.source == self._known("source", source)]
        runs = [run for run in runs if run.target == self._known("target", target)]
        if not runs:
            pairs = ", ".join(dict.fromkeys(f"{run.source} to {run.target}" for run in self.translating))
            raise Refusal(400, f"there is no run between these languages here; there are: {pairs}")
        if len(sources := {run.source for run in runs}) > 1:
            raise Refusal(400, f'source "auto" could be {" or ".join(sorted(sources))} here: name one')
        return runs[0]

    def check_languages(self, run: Served, source: str, target: str | None) -> None:
        """Raise Refusal where a run that was named does not translate, or not between the languages that were."""
        if not run.translates:
            raise Refusal(400, f'run: this one was trained to "{run.translator.task.name}", and does not translate')
        for side, code in (("source", source), ("target", target)):
            if (
                code is not None
                and code.strip().lower() != "auto"
                and languages.match(code, [getattr(run, side)]) is None
            ):
                raise Refusal(400, f"{side}: the run translates from {run.source} to {run.target}")

    def _known(self, side: str, code: str) -> str:
        known = list(dict.fromkeys(getattr(run, side) for run in self.translating))
        found = languages.match(code, known)
        if found is None:
            raise Refusal(400, f"{side}: expected one of {', '.join(known)}")
        return found

    def allows(self, key: str | None) -> bool:
        """Whether a key opens this server; compared in a time that says nothing of it."""
        if not self._keys:
            return True
        given = sha256((key or "").encode("utf-8", "replace")).digest()
        # All of them, so that the time does not tell which one it was.
        return sum(hmac.compare_digest(given, known) for known in self._keys) > 0

    def submit(self, run: Served, pending: Pending[Any]) -> None:
        """Put something into a run's queue."""
        if self.stopping:
            raise Refusal(503, "the server is stopping", retry_after=5)
        self._batchers[run.name].submit(pending)

    async def result(self, pending: Pending[T]) -> T:
        """Wait for what was submitted. Cancelled, it leaves the queue or its batch."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(pending.future), pending.deadline - time.monotonic())
        except TimeoutError:
            raise late() from None
        finally:
            with suppress(Exception):
                pending.future.cancel()

    async def call(self, run: Served, function: Callable[[Translator], T]) -> T:
        """Compute something else with a run, in its queue and by its deadline."""
        pending = Call(function, time.monotonic() + self.config.deadline)
        self.submit(run, pending)
        return await self.result(pending)

    @property
    def healthy(self) -> bool:
        return not self.stopping and all(batcher.alive for batcher in self._batchers.values())

    def close(self) -> None:
        """Take nothing more, and wait until what was begun is done."""
        self.stopping = True
        for batcher in self._batchers.values():
            batcher.close()
        for batcher in self._batchers.values():
            batcher.join(self.config.deadline)
        # What holds on to this object, such as the framework's caches, must not hold on to models.
        self._batchers.clear()
        self.runs.clear()
