"""`transduce ablate`: the rows of the paper's Table 3 on a base experiment's text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from transduce.ablation.measured import measure
from transduce.ablation.plan import plan, trials_of
from transduce.ablation.report import TITLE, Ablation, setting, write_report
from transduce.ablation.rows import choose
from transduce.commands.jobs import JobsProgress
from transduce.comparison.document import to_terminal
from transduce.comparison.family import Budget
from transduce.comparison.run import train_all
from transduce.errors import ConfigError
from transduce.recipe import CACHE, exit_code, load_experiment


def run_ablate(
    experiment: Path, rows: str, seeds: str, tokens: int | None, run: Path | None, settings: Sequence[str]
) -> int:
    """Train what is missing, then report. Returns the exit code."""
    if tokens is not None and tokens < 1:
        raise ConfigError(f"--tokens {tokens}: expected a number above 0")
    chosen, numbers = choose([part.strip() for part in rows.split(",") if part.strip()]), _seeds(seeds)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    base = load_experiment(experiment, settings).experiment
    out = run if run is not None else Path("runs") / f"ablate-{base.name}"
    variants = plan(base, Budget(tokens), chosen, numbers, out / CACHE)
    jobs = trials_of(variants)
    progress = JobsProgress(console, jobs)
    progress.say(f"{len(variants)} rows, seeds {', '.join(map(str, numbers))}: {len(jobs)} runs in {out}")
    _, interrupted = train_all(jobs, out, progress.watcher)
    if interrupted is not None:
        progress.say("interrupted and saved; the same command again goes on from here")
        return exit_code(interrupted)
    measured = [measure(variant, out) for variant in variants]
    ablation = Ablation(setting(base, variants, numbers, out), variants, measured, numbers)
    to_terminal(TITLE, write_report(ablation, out), Console(highlight=False))
    progress.say(f"report: {out / 'report.html'}  (report.md, and every figure in figures.json)")
    return 0


def _seeds(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts) or len(set(map(int, parts))) < len(parts):
        raise ConfigError(f"--seeds {text}: expected different whole numbers with commas between them, such as 1,2")
    return [int(part) for part in parts]
