"""Trains the family, one member after another; what is there already is not made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.comparison.family import Planned
from transduce.errors import RunError
from transduce.experiment import Experiment
from transduce.recipe import Outcome, Watcher, resume, train
from transduce.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class Place:
    """Where a comparison stands."""

    planned: Planned
    number: int
    """From 1."""
    members: int
    reused: bool
    """Whether the run is finished already."""


def train_family(
    planned: Sequence[Planned], out: Path, watch: Callable[[Place], Watcher]
) -> tuple[list[Path], Outcome | None]:
    """Train each member into OUT/NAME: a finished run is reused, an unfinished one resumed.

    `watch` is asked for a watcher of each member. Returns the run folders, and the outcome of a run that a signal
    interrupted. Raises RunError for a run that was made by other settings.
    """
    folders = [out / one.member.name for one in planned]
    for one, folder in zip(planned, folders, strict=True):
        if _begun(folder):
            refuse_others(folder, one.experiment)
    for number, (one, folder) in enumerate(zip(planned, folders, strict=True), start=1):
        reused = (folder / "results.json").is_file()
        watcher = watch(Place(one, number, len(planned), reused))
        if reused:
            continue
        outcome = resume(folder, watcher=watcher) if _begun(folder) else train(one.experiment, folder, watcher)
        if outcome.signal:
            return folders, outcome
    return folders, None


def _begun(folder: Path) -> bool:
    return (folder / "tokenizer.json").is_file()


def refuse_others(folder: Path, wanted: Experiment) -> None:
    """Raise RunError for a run whose settings are not the wanted ones, as far as they decide what it learns."""
    made, asked = _deciding(RunFolder.open(folder).experiment), _deciding(wanted)
    changed = [f"{table}.{key}" for table in asked for key in asked[table]
               if made[table].get(key) != asked[table][key]]  # fmt: skip
    if changed:
        raise RunError(
            f"{folder}: trained with another {', '.join(changed)}: name another folder with --out, or remove this one"
        )


def _deciding(experiment: Experiment) -> dict[str, dict[str, Any]]:
    table = experiment.model_dump(mode="json", include={"data", "tokenizer", "model", "training"})
    # What fits into this machine's memory does not decide what is learned.
    for name in ("batch_tokens", "memory"):
        table["training"].pop(name)
    return table
