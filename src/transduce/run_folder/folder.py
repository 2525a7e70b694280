"""The folder of a run: its settings, its tokenizers and its snapshots."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from transduce.config import shown
from transduce.errors import RunError, told
from transduce.experiment import Experiment
from transduce.experiment.load import parse, to_toml
from transduce.models.contract import Model
from transduce.run_folder.files import read_file, read_json, sync, write_text
from transduce.run_folder.snapshot import Snapshot, Tensors, load_model, write_snapshot
from transduce.text.pair import Tokenizers

END = "# end of the settings\n"
"""Last line of experiment.toml: TOML that was cut between two lines would pass for whole, with other settings."""


class RunFolder:
    """A run on disk. `create` a new one or `open` what is there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, experiment: Experiment, tokenizers: Tokenizers) -> RunFolder:
        """A new folder; one that already holds something is refused, so that no run overwrites another."""
        cls.refuse_used(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path}: cannot be made ({error.strerror}); name another folder with --run") from None
        run = cls(path)
        with told(path):
            run.record(experiment)
            # Last, and whole or not at all: with it there the run exists.
            aside = path / ".part-file-tokenizer.json"
            tokenizers.save(aside)
            sync(aside)
            aside.replace(path / "tokenizer.json")
        return run

    @staticmethod
    def refuse_used(path: Path) -> None:
        if path.exists() and not (path.is_dir() and (not any(path.iterdir()) or _half_made(path))):
            raise RunError(
                f"{path}: already exists and is not empty; continue it with `transduce train --resume {path}`, "
                "or name another folder with --run"
            )

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing run. Raises RunError where the folder is none, or lacks a part."""
        try:
            there = path.is_dir()
        except OSError as error:  # a name that is longer than the system takes
            raise RunError(f"{path}: cannot be read ({error.strerror})") from None
        if not there:
            raise RunError(f"{path}: no such run folder; `transduce train` makes one")
        missing = [name for name in ("experiment.toml", "tokenizer.json") if not (path / name).is_file()]
        if missing:
            advice = "; it was killed before it began: train it anew, without --resume" if _half_made(path) else ""
            raise RunError(f"{path}: not a run folder, or an incomplete one: {' and '.join(missing)} missing{advice}")
        return cls(path)

    @cached_property
    def experiment(self) -> Experiment:
        path = self.path / "experiment.toml"
        try:
            text = read_file(path).decode("utf-8")
        except UnicodeDecodeError:
            raise RunError(f"{path}: not UTF-8") from None
        if not text.endswith(END):
            raise RunError(f"{path}: its last line, `{END.strip()}`, is missing: the file was cut; copy it again")
        return parse(text, str(path))

    def record(self, experiment: Experiment) -> None:
        """Write the settings."""
        write_text(self.path / "experiment.toml", to_toml(experiment) + END)

    @cached_property
    def tokenizers(self) -> Tokenizers:
        """The run's own. Raises RunError for others, with which its weights would mean nothing."""
        found = Tokenizers.load(self.path / "tokenizer.json")
        data = self.path / "data.json"
        trained = read_json(data).get("tokenizer") if data.exists() else None
        if isinstance(trained, dict) and trained.get("fingerprint") != found.fingerprint:
            raise RunError(
                f"{self.path / 'tokenizer.json'}: not the one that this run was trained with, which has "
                f"{shown(trained.get('source'))} source and {shown(trained.get('target'))} target pieces; this one has "
                f"{found.source.size} and {found.target.size}. Put the run's own back, or train a new run on the "
                "other text"
            )
        return found

    @property
    def journal(self) -> Path:
        return self.path / "journal.jsonl"

    def checkpoints(self) -> list[Snapshot]:
        """The complete checkpoints, oldest first."""
        found = {
            int(match[1]): Snapshot(folder)
            for folder in (self.path / "checkpoints").glob("step-*")
            if (match := re.fullmatch(r"step-(\d+)", folder.name)) and (folder / "manifest.json").is_file()
        }
        return [found[step] for step in sorted(found)]

    def save_checkpoint(self, step: int, tensors: Mapping[str, Tensors], state: Mapping[str, Any]) -> Snapshot:
        return write_snapshot(self.path / "checkpoints" / f"step-{step}", tensors, state)

    def drop_checkpoint(self, snapshot: Snapshot) -> None:
        # Renamed first: a folder that is half deleted must not look like a checkpoint.
        aside = snapshot.folder.with_name(f".old-{snapshot.folder.name}")
        snapshot.folder.rename(aside)
        shutil.rmtree(aside)

    def newest_whole(self) -> Snapshot | None:
        """The newest checkpoint that is whole; damaged ones are passed over."""
        for snapshot in reversed(self.checkpoints()):
            try:
                snapshot.verify()
            except RunError:
                continue
            return snapshot
        return None

    def drop_damaged(self) -> list[Path]:
        """Remove the checkpoints that are not whole; return where they were.

        Raises RunError, and removes nothing, where none is whole.
        """
        checkpoints = self.checkpoints()
        damaged = {}
        for snapshot in checkpoints:
            try:
                snapshot.verify()
            except RunError as error:
                damaged[snapshot] = error
        if damaged and len(damaged) == len(checkpoints):
            raise RunError(f"{self.path}: no checkpoint is whole; of the newest: {damaged[checkpoints[-1]]}")
        for snapshot in damaged:
            self.drop_checkpoint(snapshot)
        return [snapshot.folder for snapshot in damaged]

    def clean(self) -> None:
        """Finish or undo what a killed process left: called before a run is continued."""
        with told(self.path):
            for folder in (self.path, self.path / "checkpoints"):
                for aside in sorted(folder.glob(".old-*")):
                    target = aside.with_name(aside.name.removeprefix(".old-"))
                    if folder == self.path and not target.exists():
                        aside.rename(target)
                    else:
                        shutil.rmtree(aside)
                for part in folder.glob(".part-*"):
                    if part.is_dir():
                        shutil.rmtree(part)
                    else:
                        part.unlink()

    def weights(self, which: str = "auto") -> Snapshot:
        """The snapshot to translate with: `average`, `best`, `last`, or the first of them that is there."""
        for name in ("average", "best", "last") if which == "auto" else (which,):
            if name == "last":
                checkpoints = self.checkpoints()
                if checkpoints:
                    return checkpoints[-1]
            elif (self.path / name / "manifest.json").is_file():
                return Snapshot(self.path / name)
        wanted = "weights" if which == "auto" else f"{which} weights"
        raise RunError(f"{self.path}: holds no {wanted}: the run has not reached its first checkpoint")

    def model(self, which: str = "auto") -> Model:
        """The run's model with the weights that `weights` names, on the CPU."""
        return load_model(self.experiment.model, self.vocabularies, self.weights(which))

    @property
    def vocabularies(self) -> tuple[int, int]:
        """Sizes of the source's and the target's, special ids included."""
        return self.tokenizers.source.size, self.tokenizers.target.size


def _half_made(path: Path) -> bool:
    """Whether a folder holds no more than what `RunFolder.create` had written when it was killed."""
    names = {entry.name for entry in path.iterdir()}
    settings = path / "experiment.toml"
    if not names <= {settings.name, ".part-file-experiment.toml", ".part-file-tokenizer.json"} or not names:
        return False
    return settings.name not in names or settings.read_bytes().endswith(END.encode())
