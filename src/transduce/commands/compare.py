"""`transduce compare`: the family of models on the same text with the same budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from transduce.commands.jobs import JobsProgress
from transduce.comparison.compare import compare
from transduce.comparison.document import to_terminal
from transduce.comparison.family import DEMONSTRATIONS, Budget, choose, plan
from transduce.comparison.report import TITLE, write_report
from transduce.comparison.run import train_all
from transduce.demo.shipped import EXPERIMENT
from transduce.errors import ConfigError
from transduce.recipe import CACHE, exit_code, load_experiment

DEMO_TOKENS = 1_000_000
"""Target tokens for each member on the demo's text, unless another budget is named: so that the family takes a quarter
of an hour at most on two cores."""


def run_compare(
    data: Path | None,
    tokens: int | None,
    minutes: float | None,
    out: Path,
    only: Sequence[str],
    score: float | None,
    settings: Sequence[str],
) -> int:
    """Train what is missing, measure, report. Returns the exit code."""
    if tokens is not None and minutes is not None:
        raise ConfigError("--tokens and --minutes are two budgets: give one of them")
    if (tokens is not None and tokens < 1) or (minutes is not None and not 0 < minutes < math.inf):
        raise ConfigError("--tokens and --minutes: expected a finite number above 0")
    if score is not None and not 0 < score <= 100:
        raise ConfigError(f"--score {score:g}: expected a BLEU above 0, 100 at most")
    if data is None and tokens is None and minutes is None:
        tokens = DEMO_TOKENS
    members = choose(only)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    base = load_experiment(data or EXPERIMENT, settings).experiment
    planned = plan(base, Budget(tokens, minutes), members, out / CACHE) if members else []
    progress = JobsProgress(console, planned)
    runs, interrupted = train_all(planned, out, progress.watcher)
    if interrupted is not None:
        progress.say("interrupted and saved; the same command again goes on from here")
        return exit_code(interrupted)
    out.mkdir(parents=True, exist_ok=True)
    wanted = not only or DEMONSTRATIONS in only
    comparison = compare(base, planned, runs, progress.say, demonstrations=wanted, goal=score)
    sections = write_report(comparison, out)
    to_terminal(TITLE, sections, Console(highlight=False))
    progress.say(f"report: {out / 'report.html'}  (report.md, and every figure in figures.json)")
    return 0
