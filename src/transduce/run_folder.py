"""What a run is on disk.

    experiment.toml       every setting
    tokenizer.json        text to ids and back
    data.json             what was read, kept and dropped, with checksums
    checkpoints/step-N/   weights, optimizer, state, manifest
    best/  average/       weights, state, manifest
    journal.jsonl         one line per event, cut back to the checkpoint on resume
    results.json          scores, with what they were computed from and on

A checkpoint is a *snapshot*: written aside, its manifest (with the SHA-256 of each file) last, synced,
and renamed as a whole. It exists completely or not at all. Nothing is ever pickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from transduce.errors import RunError, TransduceError, told
from transduce.experiment import Experiment
from transduce.experiment.load import parse, to_toml
from transduce.text.pair import Tokenizers

FORMAT = 1
"""Version of the folder's format; a newer one is refused by name."""

END = "# end of the settings\n"
"""Last line of experiment.toml: TOML that was cut between two lines would pass for whole, with other settings."""

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A complete snapshot on disk; its contents are checked when they are read."""

    folder: Path

    def state(self) -> dict[str, Any]:
        return dict(json.loads(self._checked("state.json")))

    def tensors(self, name: str) -> dict[str, Tensor]:
        """The tensors of `name`.safetensors, on the CPU."""
        content = self._checked(f"{name}.safetensors")
        try:
            return safetensors.torch.load(content)
        except (SafetensorError, ValueError, KeyError) as error:
            raise RunError(f"{self.folder / name}.safetensors: not a safetensors file ({error})") from None

    def verify(self) -> None:
        """Raise RunError unless every file is there, whole and unchanged."""
        for name in self._manifest():
            self._checked(name)

    def _checked(self, name: str) -> bytes:
        expected = self._manifest().get(name)
        if expected is None:
            raise RunError(f"{self.folder}: its manifest does not list {name}")
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise RunError(f"{self.folder / name}: cannot be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() != expected:
            raise RunError(
                f"{self.folder / name}: {len(content)} bytes whose SHA-256 is not the manifest's: the file is cut "
                "or changed; take another checkpoint (--weights), or resume from an earlier one"
            )
        return content

    def _manifest(self) -> dict[str, str]:
        path = self.folder / "manifest.json"
        manifest = read_json(path)
        if manifest.get("format") != FORMAT:
            raise RunError(f"{path}: format {manifest.get('format')!r}, this version of transduce reads {FORMAT}")
        files = manifest.get("files")
        if not isinstance(files, dict):
            raise RunError(f"{path}: it lists no files")
        return files


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
            _sync(aside)
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
        if not path.is_dir():
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
            text = path.read_bytes().decode("utf-8")
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
        return Tokenizers.load(self.path / "tokenizer.json")

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


def write_snapshot(folder: Path, tensors: Mapping[str, Tensors], state: Mapping[str, Any]) -> Snapshot:
    """Write tensors (one safetensors file per name) and state so that they exist completely or not at all."""
    part = folder.with_name(f".part-{folder.name}")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        contents = {f"{name}.safetensors": _serialise(group) for name, group in tensors.items()}
        contents["state.json"] = (json.dumps(state, indent=1) + "\n").encode()
        files = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        contents["manifest.json"] = (json.dumps({"format": FORMAT, "files": files}, indent=1) + "\n").encode()
        for name, content in contents.items():
            _write_synced(part / name, content)
        _sync(part)
        if folder.exists():
            old = folder.with_name(f".old-{folder.name}")
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
            try:
                part.rename(folder)
            except OSError:
                old.rename(folder)
                raise
            shutil.rmtree(old)
        else:
            part.rename(folder)
        _sync(folder.parent)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise TransduceError(
            f"{folder}: could not be saved ({error.strerror}); what was saved before is untouched. "
            "When that is mended, `transduce train --resume` goes on"
        ) from None
    return Snapshot(folder)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    aside = path.with_name(f".part-file-{path.name}")
    with told(path):
        _write_synced(aside, text.encode())
        aside.replace(path)


def load_weights(model: nn.Module, snapshot: Snapshot) -> None:
    """Put a snapshot's weights into a model; names, shapes and finiteness must hold.

    Tied matrices are stored once: `named_parameters` names each parameter by its first place only.
    """
    stored = snapshot.tensors("weights")
    wanted = dict(model.named_parameters())
    problems = [f"{name} is missing" for name in wanted if name not in stored]
    problems += [f"{name} is not a weight of this model" for name in stored if name not in wanted]
    for name in wanted.keys() & stored.keys():
        here, there = tuple(wanted[name].shape), tuple(stored[name].shape)
        if here != there:
            problems.append(f"{name} is {list(there)}, the experiment asks for {list(here)}")
        elif not torch.isfinite(stored[name]).all():
            problems.append(f"{name} holds values that are not finite")
    if problems:
        more = f", and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise RunError(f"{snapshot.folder}: {'; '.join(sorted(problems)[:3])}{more}")
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(stored[name])


def _serialise(tensors: Tensors) -> bytes:
    return safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def _half_made(path: Path) -> bool:
    """Whether a folder holds no more than what `RunFolder.create` had written when it was killed."""
    names = {entry.name for entry in path.iterdir()}
    settings = path / "experiment.toml"
    if not names <= {settings.name, ".part-file-experiment.toml", ".part-file-tokenizer.json"} or not names:
        return False
    return settings.name not in names or settings.read_bytes().endswith(END.encode())


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file of a run. Raises RunError."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise RunError(f"{path}: missing, so the run is incomplete") from None
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: not readable as JSON ({error})") from None
    if not isinstance(value, dict):
        raise RunError(f"{path}: expected a JSON object")
    return value
