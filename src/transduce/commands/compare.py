"""`transduce compare`: the family of models on the same text with the same budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from transduce.commands.progress import PLAIN_EVERY, clock
from transduce.comparison.compare import compare
from transduce.comparison.document import to_terminal
from transduce.comparison.family import Budget, choose, plan
from transduce.comparison.report import TITLE, write_report
from transduce.comparison.run import Place, train_family
from transduce.demo.shipped import EXPERIMENT
from transduce.errors import ConfigError
from transduce.recipe import Watcher, exit_code, load_experiment
from transduce.training.state import TrainingState

DEMO_TOKENS = 500_000
"""Target tokens for each member on the demo's text, unless another budget is named: so that the family takes a quarter
of an hour on two cores."""


def run_compare(
    data: Path | None,
    tokens: int | None,
    minutes: float | None,
    out: Path,
    only: Sequence[str],
    settings: Sequence[str],
) -> int:
    """Train what is missing, measure, report. Returns the exit code."""
    if tokens is not None and minutes is not None:
        raise ConfigError("--tokens and --minutes are two budgets: give one of them")
    if (tokens is not None and tokens < 1) or (minutes is not None and not minutes > 0):
        raise ConfigError("--tokens and --minutes: expected a number above 0")
    if data is None and tokens is None and minutes is None:
        tokens = DEMO_TOKENS
    members = choose(only)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    base = load_experiment(data or EXPERIMENT, settings).experiment
    planned = plan(base, Budget(tokens, minutes), members, out / ".cache")
    progress = _Progress(console, len(planned))
    runs, interrupted = train_family(planned, out, progress.watcher)
    if interrupted is not None:
        progress.say("interrupted and saved; the same command again goes on from here")
        return exit_code(interrupted)
    comparison = compare(base, planned, runs, progress.say)
    sections = write_report(comparison, out)
    to_terminal(TITLE, sections, Console(highlight=False))
    progress.say(f"report: {out / 'report.html'}  (report.md, and every figure in figures.json)")
    return 0


class _Progress:
    """Which member of how many, and how long all that are left will take."""

    def __init__(self, console: Console, members: int) -> None:
        self.console, self.members = console, members
        self.seconds: list[float] = []
        """That each member took which was trained here."""

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, emoji=False)

    def watcher(self, place: Place) -> Watcher:
        one = place.planned
        what = f"{place.number} of {place.members}: {one.member.label}, {one.parameters:,} parameters"
        self.say(f"{what}: trained already" if place.reused else what)
        return _MemberWatcher(self, place)


class _MemberWatcher(Watcher):
    """A line every so often."""

    def __init__(self, progress: _Progress, place: Place) -> None:
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
            self.progress.seconds.append(now - self.started)
        elif now - self.last >= PLAIN_EVERY:
            self.last = now
            minutes = self.place.planned.experiment.training.max_minutes
            share = state.seconds / (60 * minutes) if minutes else (state.update - self.first) / (updates - self.first)
            whole = (now - self.started) / max(share, 1e-9)
            typical = sum([*self.progress.seconds, whole]) / (len(self.progress.seconds) + 1)
            left = whole * (1 - share) + typical * (self.place.members - self.place.number)
            self.progress.say(f"  update {state.update:,}  loss {loss:.3f}  about {clock(max(0.0, left))} left in all")
