"""The journal of a run: one JSON object a line, appended as it happens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transduce.errors import ConfigError, RunError, told
from transduce.run_folder.files import sync

CURVES = ("loss", "bleu", "chrf")
"""The numbers of an event that are drawn."""


class Journal:
    """Append-only. `cut` takes back what a resumed run will write again.

    With `tensorboard`, every number is also written as an event file beside the journal.
    """

    def __init__(self, path: Path, *, tensorboard: bool = False) -> None:
        self.path = path
        self._board = _board(path.parent / "tensorboard") if tensorboard else None

    def write(self, event: str, *, update: int, **values: Any) -> None:
        with told(self.path), self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"event": event, "update": update, **values}, ensure_ascii=False) + "\n")
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    self._board.add_scalar(f"{event}/{name}", value, update)
            self._board.flush()

    def synced(self) -> int:
        """Have the disk take what was written; its size in bytes. Raises TransduceError."""
        if not self.path.exists():
            return 0
        with told(self.path):
            sync(self.path)
        return self.path.stat().st_size

    def cut(self, size: int) -> int:
        """Back to the first `size` bytes: to the moment of a checkpoint. Returns how many of them are missing.

        Where some are, back to the last whole line: half a line would spoil the next one.
        Raises RunError where what is left cannot be read: told now, not when training has ended.
        """
        there = self.path.read_bytes() if self.path.exists() else b""
        whole = there[: there.rfind(b"\n", 0, size) + 1]
        _events(whole, self.path)
        if len(there) > len(whole):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        return size - len(whole)


def _board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError(
            "training.tensorboard = true needs a package that isn't installed: pip install 'transduce[tensorboard]'"
        ) from None
    return SummaryWriter(str(folder))


def read_journal(path: Path) -> list[Mapping[str, Any]]:
    """All complete lines; a last line that a kill cut short is left out. Raises RunError for a line that is none."""
    return _events(path.read_bytes(), path) if path.exists() else []


def _events(content: bytes, path: Path) -> list[Mapping[str, Any]]:
    lines = enumerate(content.split(b"\n")[:-1], start=1)
    return [_event(line, f"{path}, line {number}") for number, line in lines if line]


def _event(line: bytes, where: str) -> Mapping[str, Any]:
    try:
        event = json.loads(line)
        if isinstance(event["event"], str) and all(_is_number(event.get(name, 0)) for name in ("update", *CURVES)):
            return dict(event)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        pass
    raise RunError(
        f"{where}: no line that training writes: the file was changed. Take the line out, or move the file away: "
        "nothing but the curve is made from it"
    )


def _is_number(value: Any) -> bool:
    """Whether a value can be drawn; a score may be missing."""
    return value is None or (type(value) in (int, float) and abs(value) <= 2**53)
