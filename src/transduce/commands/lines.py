"""What a command reads, lines of its arguments, of a file, or of standard input as they come; and the file it makes."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from transduce.errors import ConfigError
from transduce.text.lines import Line, iterate_lines, open_binary


@contextlib.contextmanager
def asked_lines(texts: Sequence[str], file: Path | None, batch: int) -> Iterator[Iterable[list[Line]]]:
    """Lines in lists of at most `batch`: the texts or, without any, the file or, without one, standard input."""
    if texts and file is not None:
        raise ConfigError("give texts or --file, not both")
    if batch < 1:
        raise ConfigError(f"--batch {batch}: expected at least 1")
    if texts:
        yield _chunks((Line(typed(text), b"\n", number) for number, text in enumerate(texts, start=1)), batch)
    elif file is not None:
        with open_binary(file) as stream:
            yield _chunks(iterate_lines(stream), batch)
    else:
        yield _as_they_come(iterate_lines(_standard_input()), batch)


@contextlib.contextmanager
def appearing_whole(path: Path) -> Iterator[BinaryIO]:
    """The file of --output: there when all is done, or as it was before."""
    aside = path.with_name(f".{path.name}.part")
    try:
        with aside.open("wb") as file:
            yield file
        aside.replace(path)
    except OSError as error:
        raise ConfigError(f"--output {path}: cannot be written ({error.strerror})") from None
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


def typed(text: str) -> bytes:
    """An argument in UTF-8; in the C locale Python hands each byte beyond ASCII over as a lone surrogate."""
    return text.encode("utf-8", "surrogateescape")


def _standard_input() -> BinaryIO:
    """A reader of its own: Python ends with the lock of the one of `sys.stdin`, and aborts where a thread holds it."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # it is no file of the system's
        return sys.stdin.buffer


def _chunks(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    chunk: list[Line] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _as_they_come(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    """What has arrived so far, at most `size` lines: a line typed at a terminal is answered at once."""
    arrived: queue.Queue[Line | Exception | None] = queue.Queue(maxsize=4 * size)

    def read() -> None:
        try:
            for line in lines:
                arrived.put(line)
            arrived.put(None)
        except Exception as error:  # whatever it is, the main thread must not wait for ever
            arrived.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        item = arrived.get()
        chunk = []
        while isinstance(item, Line):
            chunk.append(item)
            if len(chunk) == size or arrived.empty():
                break
            item = arrived.get()
        if chunk:
            yield chunk
        if isinstance(item, Exception):
            raise item
        if item is None:
            return
