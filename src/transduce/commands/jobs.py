"""What a person sees while several experiments are trained one after another."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console

from transduce.commands.progress import PLAIN_EVERY
from transduce.commands.telling import legible
from transduce.comparison.run import Job, Place
from transduce.data.passes import clock
from transduce.recipe import Watcher
from transduce.training.state import TrainingState


class JobsProgress:
    """Which of how many, and how long all that are left will take."""

    def __init__(self, console: Console, jobs: Sequence[Job]) -> None:
        self.console, self.jobs = console, jobs
        self.seconds, self.parameters = 0.0, 0
        """That the jobs took which were trained here, and the sum of their parameters."""

    def say(self, text: str) -> None:
        self.console.print(legible(text), markup=False, emoji=False)

    def watcher(self, place: Place) -> Watcher:
        job = place.job
        what = f"{place.number} of {place.jobs}: {job.label}, {job.parameters:,} parameters"
        self.say(f"{what}: trained already" if place.reused else what)
        return _JobWatcher(self, place)

    def left(self, place: Place, share: float, seconds: float) -> float:
        """Seconds until all are trained, where `seconds` have made this share of one: time goes with parameters."""
        whole = seconds / max(share, 1e-9)
        rate = (self.seconds + whole) / (self.parameters + place.job.parameters)
        return max(0.0, whole - seconds) + rate * sum(job.parameters for job in self.jobs[place.number :])


class _JobWatcher(Watcher):
    """A line every so often."""

    def __init__(self, progress: JobsProgress, place: Place) -> None:
        self.progress, self.place = progress, place
        self.started = self.last = time.monotonic()
        self.first: int | None = None

    def noticed(self, what: str) -> None:
        self.progress.say(f"  {what}")

    def updated(self, state: TrainingState, loss: float, rate: float, updates: int) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = state.update - 1
        if state.finished or state.update >= updates:
            self.progress.seconds += now - self.started
            self.progress.parameters += self.place.job.parameters
        elif now - self.last >= PLAIN_EVERY:
            self.last = now
            minutes = self.place.job.experiment.training.max_minutes
            share = state.seconds / (60 * minutes) if minutes else (state.update - self.first) / (updates - self.first)
            left = self.progress.left(self.place, share, now - self.started)
            self.progress.say(f"  update {state.update:,}  loss {loss:.3f}  about {clock(left)} left in all")
