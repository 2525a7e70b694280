"""The journal of a run: one JSON object a line, appended as it happens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transduce.errors import ConfigError, told


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

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def cut(self, size: int) -> None:
        """Back to the first `size` bytes: to the moment of a checkpoint.

        Where a power cut left fewer, back to the last whole line: half a line would spoil the next one.
        """
        content = self.path.read_bytes()[:size] if self.path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if self.size() > len(whole):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))


def _board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError(
            "training.tensorboard = true needs a package that isn't installed: pip install 'transduce[tensorboard]'"
        ) from None
    return SummaryWriter(str(folder))


def read_journal(path: Path) -> list[Mapping[str, Any]]:
    """All complete lines; a last line that a kill cut short is left out."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines if line]
