"""Trains experiments one after another; what is there already is not made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.errors import RunError
from transduce.experiment import Experiment
from transduce.experiment.load import to_toml
from transduce.recipe import Outcome, Watcher, resume, train
from transduce.run_folder import RunFolder, write_text
from transduce.training.company import company, processes


@dataclass(frozen=True, slots=True)
class Job:
    """An experiment to be trained among others."""

    name: str
    """Names its run folder."""
    label: str
    """Names it to people."""
    experiment: Experiment
    parameters: int


@dataclass(frozen=True, slots=True)
class Place:
    """Which of the jobs comes next."""

    job: Job
    number: int
    """From 1."""
    jobs: int
    reused: bool
    """Whether the run is finished already."""


def train_all(jobs: Sequence[Job], out: Path, watch: Callable[[Place], Watcher]) -> tuple[list[Path], Outcome | None]:
    """Train each job into OUT/NAME: a finished run is reused, an unfinished one resumed.

    `watch` is asked for a watcher of each. Returns the run folders, and the outcome of a run that a signal
    interrupted. Raises RunError for a run that was made by other settings.
    """
    folders = [out / job.name for job in jobs]
    for job, folder in zip(jobs, folders, strict=True):
        if _begun(folder):
            refuse_others(folder, job.experiment)
    for number, (job, folder) in enumerate(zip(jobs, folders, strict=True), start=1):
        reused = (folder / "results.json").is_file()
        watcher = watch(Place(job, number, len(jobs), reused))
        if reused:
            continue
        outcome = _train(job, folder, watcher)
        if outcome.signal:
            return folders, outcome
    return folders, None


def _train(job: Job, folder: Path, watcher: Watcher) -> Outcome:
    """On a CPU with a process for each core where that pays, as `transduce train` does it."""
    if _begun(folder):
        with company(processes(job.experiment), ["train", "--resume", str(folder)]):
            return resume(folder, watcher=watcher)
    plan = folder.parent / ".plans" / f"{job.name}.toml"
    plan.parent.mkdir(parents=True, exist_ok=True)
    write_text(plan, to_toml(job.experiment))
    with company(processes(job.experiment), ["train", str(plan), "--run", str(folder)]):
        return train(job.experiment, folder, watcher)


def _begun(folder: Path) -> bool:
    return (folder / "tokenizer.json").is_file()


def refuse_others(folder: Path, wanted: Experiment) -> None:
    """Raise RunError for a run whose settings are not the wanted ones, as far as they decide what it learns."""
    made, asked = _deciding(RunFolder.open(folder).experiment), _deciding(wanted)
    changed = [f"{table}.{key}" for table in asked for key in asked[table]
               if made[table].get(key) != asked[table][key]]  # fmt: skip
    if changed:
        raise RunError(f"{folder}: trained with another {', '.join(changed)}: name another folder, or remove this one")


def _deciding(experiment: Experiment) -> dict[str, dict[str, Any]]:
    table = experiment.model_dump(mode="json", include={"data", "tokenizer", "model", "training"})
    # What fits into this machine's memory does not decide what is learned.
    for name in ("batch_tokens", "memory"):
        table["training"].pop(name)
    return table
