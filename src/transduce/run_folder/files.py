"""Single files of a run: written whole or not at all, and read without a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from transduce.errors import RunError, told


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    aside = path.with_name(f".part-file-{path.name}")
    with told(path):
        write_synced(aside, text.encode())
        aside.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file of a run. Raises RunError."""
    return parse_json(read_file(path), path)


def parse_json(content: bytes, path: Path) -> dict[str, Any]:
    """A JSON object from the content of a file. Raises RunError."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: not readable as JSON ({error})") from None
    if not isinstance(value, dict):
        raise RunError(f"{path}: expected a JSON object")
    return value


def read_file(path: Path) -> bytes:
    """All of a regular file: a pipe or a device would never end. Raises RunError."""
    try:
        if not path.is_file() and path.exists():
            raise RunError(f"{path}: not a file")
        return path.read_bytes()
    except FileNotFoundError:
        raise RunError(f"{path}: missing, so the run is incomplete") from None
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    except MemoryError:
        raise RunError(f"{path}: larger than the memory that is left") from None


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and have the disk take it. Raises OSError."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Have the disk take a file, or a folder's list of names. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
