"""The journal of a run: one JSON object a line, appended as it happens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Journal:
    """Append-only. `cut` takes back what a resumed run will write again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, event: str, **values: Any) -> None:
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"event": event, **values}, ensure_ascii=False) + "\n")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def cut(self, size: int) -> None:
        """Back to the first `size` bytes: to the moment of a checkpoint."""
        if self.size() > size:
            with self.path.open("r+b") as file:
                file.truncate(size)


def read_journal(path: Path) -> list[Mapping[str, Any]]:
    """All complete lines; a last line that a kill cut short is left out."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines if line]
