"""`transduce train`: a new run, or more of an old one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from transduce.commands.progress import TerminalWatcher
from transduce.errors import ConfigError
from transduce.experiment.load import apply_settings
from transduce.recipe import Outcome, exit_code, load_experiment, resume, train
from transduce.run_folder import RunFolder
from transduce.training.company import company, processes
from transduce.training.distributed import leads


def run_train(experiment: Path | None, run: Path | None, settings: Sequence[str], resumed: Path | None) -> int:
    """Returns the exit code."""
    if (experiment is None) == (resumed is None):
        raise ConfigError("give an experiment file to train, or --resume RUN to continue a run: one of the two")
    if resumed is not None:
        if run is not None:
            raise ConfigError("--resume names the run folder already: leave --run out")
        of_run = RunFolder.open(resumed).experiment
        count = processes(apply_settings(of_run, settings, str(resumed)))
        with TerminalWatcher(of_run) as watcher, company(count, sys.argv[1:]):
            return report(resume(resumed, settings, watcher), watcher)
    assert experiment is not None
    loaded = load_experiment(experiment, settings)
    with TerminalWatcher(loaded.experiment) as watcher, company(processes(loaded.experiment), sys.argv[1:]):
        watcher.say(f"preset {loaded.reason}")
        folder = run if run is not None else Path("runs") / loaded.experiment.name
        return report(train(loaded.experiment, folder, watcher), watcher)


def report(outcome: Outcome, watcher: TerminalWatcher) -> int:
    """Say how training ended, with scores on standard output. Returns the exit code."""
    if not leads():
        return exit_code(outcome)
    if outcome.signal:
        watcher.say(f"interrupted and saved; continue with: transduce train --resume {outcome.run}")
        return exit_code(outcome)
    watcher.say(f"training ended: {outcome.reason}")
    for test in outcome.tests:
        for score in test.scores:
            typer.echo(f"{test.name}: {score}")
    watcher.say(f"run: {outcome.run}  (curve.png shows the training curve, results.json the record)")
    return 0
