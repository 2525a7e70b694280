"""One thread for each run: it translates the sentences of all requests that wait, in common batches.

While a batch is computed, requests gather; so batches grow with the load, and nobody waits for one to fill. A long
text takes part in each batch with some of its sentences and holds up nobody.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from transduce.errors import TransduceError
from transduce.search.watching import Step, Watcher
from transduce.serving.job import Call, Job, Pending, Sentence
from transduce.serving.metrics import Metrics
from transduce.serving.refusal import Refusal
from transduce.serving.settled import Hear, Settled
from transduce.translator import Translator

log = logging.getLogger(__name__)

CUT = "\N{REPLACEMENT CHARACTER}"
"""What the bytes of half a character come out as."""


class Batcher:
    """The queue of one run, and the thread that empties it."""

    def __init__(
        self,
        name: str,
        translator: Translator,
        *,
        queue: int,
        batch: int,
        cores: AbstractContextManager[Any],
        metrics: Metrics,
    ) -> None:
        self._name, self._translator, self._most, self._queue = name, translator, batch, queue
        self._cores, self._metrics, self._process = cores, metrics, os.getpid()
        self._arrived: deque[Pending[Any]] = deque()
        self._open: list[Job] = []
        self._changed = threading.Condition()
        self._closed = False
        self._count = 0
        # A daemon, so that a second signal ends the program at once.
        self._thread = threading.Thread(target=self._work, name=f"run {name}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def submit(self, pending: Pending[Any]) -> None:
        """Put something into the queue. Raises Refusal where it is full or closed, or was left behind by a fork."""
        if os.getpid() != self._process:
            raise Refusal(503, "this process is a fork of the server's and has no thread that translates")
        with self._changed:
            if self._closed:
                raise Refusal(503, "the server is stopping", retry_after=5)
            if self._count >= self._queue:
                raise Refusal(503, f"{self._queue} requests are waiting already: try again later", retry_after=1)
            self._count += 1
            self._arrived.append(pending)
            self._metrics.waiting(self._name, self._count)
            self._changed.notify()
        pending.future.add_done_callback(self._leave)

    def close(self) -> None:
        """Take nothing more; what is there will be done."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    def _leave(self, _: object) -> None:
        with self._changed:
            self._count -= 1
            self._metrics.waiting(self._name, self._count)

    def _work(self) -> None:
        torch.set_num_threads(self._translator.compute.threads)
        while True:
            with self._changed:
                while not (self._arrived or self._open or self._closed):
                    self._changed.wait()
                if self._closed and not (self._arrived or self._open):
                    return
                arrived = list(self._arrived)
                self._arrived.clear()
            for pending in arrived:
                self._begin(pending)
            self._open = [job for job in self._open if not job.over]
            if self._open:
                self._translate(_batch(self._open, self._most))
                # Those who wish for it otherwise have their turn next.
                self._open.append(self._open.pop(0))

    def _begin(self, pending: Pending[Any]) -> None:
        if pending.over:
            return
        try:
            if isinstance(pending, Call):
                with self._cores:
                    pending.succeed(pending.function(self._translator))
            elif isinstance(pending, Job):
                pending.begin(self._translator)
                self._open.append(pending)
        except Exception as error:
            pending.fail(_told(error))

    def _translate(self, batch: Sequence[Sentence]) -> None:
        """Translate sentences of like wishes together; where that fails, those of each request by themselves."""
        wish = batch[0].job.wish
        started = time.monotonic()
        try:
            with self._cores:
                done = self._translator.translate(
                    [sentence.content for sentence in batch],
                    alignment=wish.alignment,
                    watch=lambda places: self._watcher([batch[place] for place in places]),
                    **wish.options,
                )
        except Exception as error:
            jobs = list(dict.fromkeys(sentence.job for sentence in batch))
            if len(jobs) == 1:
                jobs[0].fail(_told(error))
            else:
                for job in jobs:
                    self._translate([sentence for sentence in batch if sentence.job is job])
            return
        self._metrics.batch(self._name, len(batch), time.monotonic() - started)
        for sentence, translation in zip(batch, done, strict=True):
            try:
                sentence.take(translation)
            except Exception as error:
                sentence.job.fail(_told(error))

    def _watcher(self, batch: Sequence[Sentence]) -> Watcher:
        """Tells what is settled, and takes out what nobody waits for any more."""
        listeners = [self._hear(sentence) for sentence in batch]
        settled = Settled(listeners) if any(listeners) else None

        def watch(step: Step) -> Collection[int]:
            if settled is not None:
                settled(step)
            return [i for i, sentence in enumerate(batch) if sentence.job.over]

        return watch

    def _hear(self, sentence: Sentence) -> Hear | None:
        if not sentence.heard:
            return None
        decode = self._translator.tokenizers.target.decode
        return lambda ids: sentence.tell(decode(ids).rstrip(CUT))


def _batch(jobs: Sequence[Job], most: int) -> list[Sentence]:
    """Sentences of the first job and of those with the same wish, one of each in turn."""
    alike = [job for job in jobs if job.wish == jobs[0].wish]
    batch: list[Sentence] = []
    while len(batch) < most and (alike := [job for job in alike if job.waiting]):
        batch += [job.waiting.popleft() for job in alike[: most - len(batch)]]
    return batch


def _told(error: Exception) -> Refusal:
    """What a client is told of an error. The log has the place in the code, never the message: that may hold text."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TransduceError):
        return Refusal(422, str(error))
    return reported(error)


def reported(error: BaseException) -> Refusal:
    """Log where an error of ours came from; returns what the client is told of it."""
    frames = traceback.extract_tb(error.__traceback__)
    places = "; ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
    log.error("%s at %s", type(error).__name__, places)
    return Refusal(500, "something went wrong inside the server; its log says where")
