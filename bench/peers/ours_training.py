"""Ours in training: the real recipe, which a watcher holds between turns."""

from __future__ import annotations

import json
import time
from pathlib import Path

import torch

import transduce
from bench.peers.loop import on_device
from bench.peers.protocol import Json, Link, megabytes, run
from transduce.recipe import Announcement, Watcher, load_experiment, train
from transduce.training.company import company
from transduce.training.state import TrainingState
from transduce.training.validation import Validation


class Turns(Watcher):
    """Answers a request once its updates are made, and then waits for the next, wherever training is."""

    def __init__(self, link: Link, device: str) -> None:
        self.link, self.device = link, device
        self.asked = self.updates = self.tokens = 0
        self.begun = 0.0

    def announced(self, announcement: Announcement) -> None:
        self.link.write(
            ready=True, version=transduce.__version__, torch=torch.__version__, parameters=announcement.parameters
        )
        self._wait()

    def updated(self, state: TrainingState, loss: float, rate: float, updates: int) -> None:
        if state.update - self.updates < self.asked:
            return
        self.link.write(
            tokens=state.target_tokens - self.tokens, seconds=time.perf_counter() - self.begun, loss=loss,
            megabytes=megabytes(), **on_device(self.device),
        )  # fmt: skip
        self.updates, self.tokens = state.update, state.target_tokens
        self._wait()

    def _wait(self) -> None:
        request = self.link.read()
        if request is None:
            raise SystemExit
        self.asked, self.begun = request["updates"], time.perf_counter()


class Course(Watcher):
    """Training that goes on by itself; tells of each validation, and of pairs seen, by the clock."""

    def __init__(self, link: Link) -> None:
        self.link = link

    def updated(self, state: TrainingState, loss: float, rate: float, updates: int) -> None:
        if state.update % 10 == 0:
            self.link.write(at=time.monotonic(), update=state.update, tokens=state.target_tokens)

    def validated(self, state: TrainingState, validation: Validation, improved: bool) -> None:
        self.link.write(at=time.monotonic(), update=state.update, bleu=validation.bleu)


def serve(job: Json, link: Link) -> None:
    experiment = Path(job["experiment"])
    settings = [f"{key}={json.dumps(value)}" for key, value in job["settings"].items()]
    words = ["train", str(experiment), "--run", job["run"], *(w for s in settings for w in ("--set", s))]
    watcher = Course(link) if job["task"] == "course" else Turns(link, job["device"])
    if job["task"] == "course":
        link.write(ready=True, version=transduce.__version__, torch=torch.__version__)
    with company(job["processes"], words):
        outcome = train(load_experiment(experiment, settings).experiment, job["run"], watcher)
    scores = {test.name: {s.name: s.value for s in test.scores} for test in outcome.tests}
    link.write(at=time.monotonic(), ended=outcome.reason, tests=scores)


if __name__ == "__main__":
    run(serve)
