"""Weights and what else a run has to remember, in a folder that exists completely or not at all."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from transduce.config import LONGEST_SHOWN, shown
from transduce.errors import ConfigError, RunError, TransduceError
from transduce.models.contract import Model, ModelSettings
from transduce.models.outline import outline
from transduce.run_folder.files import parse_json, read_file, read_json, sync, write_synced

FORMAT = 1
"""Version of the folder's format; a newer one is refused by name."""

_FILE = re.compile(r"[\w-]+\.(?:safetensors|json)")

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A complete snapshot on disk; its contents are checked when they are read."""

    folder: Path

    def state(self) -> dict[str, Any]:
        return parse_json(self._checked("state.json"), self.folder / "state.json")

    def tensors(self, name: str) -> dict[str, Tensor]:
        """The tensors of `name`.safetensors, on the CPU."""
        content = self._checked(f"{name}.safetensors")
        try:
            return safetensors.torch.load(content)
        except (SafetensorError, ValueError, KeyError) as error:
            raise RunError(f"{self.folder / name}.safetensors: not a safetensors file ({str(error)[:200]})") from None

    def verify(self) -> None:
        """Raise RunError unless every file is there, whole and unchanged."""
        for name in self._manifest():
            self._checked(name)

    def _checked(self, name: str) -> bytes:
        expected = self._manifest().get(name)
        if expected is None:
            raise RunError(f"{self.folder}: its manifest does not list {name}")
        content = read_file(self.folder / name)
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
            raise RunError(f"{path}: format {shown(manifest.get('format'))}, this version of transduce reads {FORMAT}")
        files = manifest.get("files")
        if not isinstance(files, dict):
            raise RunError(f"{path}: it lists no files")
        for name in files:
            # Anything else could lead out of the folder, to a device that never ends for one.
            if not _FILE.fullmatch(name):
                raise RunError(f"{path}: it lists {shown(name)}, which is no file of a snapshot")
        return files


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
            write_synced(part / name, content)
        sync(part)
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
        sync(folder.parent)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise TransduceError(
            f"{folder}: could not be saved ({error.strerror}); what was saved before is untouched. "
            "When that is mended, `transduce train --resume` goes on"
        ) from None
    return Snapshot(folder)


def load_weights(model: nn.Module, snapshot: Snapshot) -> None:
    """Put a snapshot's weights into a model; names, shapes, types and finiteness must hold.

    Tied matrices are stored once: `named_parameters` names each parameter by its first place only.
    """
    _fill(model, snapshot.tensors("weights"), snapshot.folder)


def load_model(settings: ModelSettings, vocabularies: tuple[int, int], snapshot: Snapshot) -> Model:
    """The model of these settings with a snapshot's weights, on the CPU. Raises RunError where they don't fit."""
    stored = fitting_weights(settings, vocabularies, snapshot)
    model = settings.build(*vocabularies)
    _fill(model, stored, snapshot.folder)
    return model


def fitting_weights(settings: ModelSettings, vocabularies: tuple[int, int], snapshot: Snapshot) -> Tensors:
    """A snapshot's weights. Raises RunError unless they are those of the model of these settings.

    To be asked before it is built: settings that were changed to enormous ones would take all memory first.
    """
    stored = snapshot.tensors("weights")
    try:
        # A layer may make a parameter and replace it; but not several for each that stays.
        wanted = outline(settings, *vocabularies, most=4 * len(stored))
    except ConfigError as error:
        raise RunError(f"{snapshot.folder}: its weights, {len(stored)}, are not the experiment's: {error}") from None
    _refuse_misfits(wanted, stored, snapshot.folder)
    return stored


def _refuse_misfits(wanted: Tensors, stored: Tensors, folder: Path) -> None:
    """Raise RunError unless both have the same names, shapes and types. The values of `wanted` are not looked at."""
    problems = [f"{name} is missing" for name in wanted if name not in stored]
    problems += [f"{name[:LONGEST_SHOWN]} is not a weight of this model" for name in stored if name not in wanted]
    for name in wanted.keys() & stored.keys():
        here, there = tuple(wanted[name].shape), tuple(stored[name].shape)
        if here != there:
            problems.append(f"{name} is {shown(list(there))}, the experiment asks for {list(here)}")
        elif stored[name].dtype != wanted[name].dtype:
            problems.append(f"{name} is of type {stored[name].dtype}, the model's of {wanted[name].dtype}")
        elif not torch.isfinite(stored[name]).all():
            problems.append(f"{name} holds values that are not finite")
    if problems:
        more = f", and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise RunError(f"{folder}: {'; '.join(sorted(problems)[:3])}{more}")


@torch.no_grad()
def _fill(model: nn.Module, stored: Tensors, folder: Path) -> None:
    wanted = dict(model.named_parameters())
    _refuse_misfits(wanted, stored, folder)
    for name, parameter in wanted.items():
        parameter.copy_(stored[name])


def _serialise(tensors: Tensors) -> bytes:
    return safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
