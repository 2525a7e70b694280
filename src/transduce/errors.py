"""The exceptions that users see.

Every message says what was wrong (file, line, value), what was expected and what to do.
`InputError` and its children are the user's to mend: the command line prints them without a
traceback and exits with code 2. Other `TransduceError`s exit with code 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class TransduceError(Exception):
    """Base of everything that transduce raises on purpose."""

    exit_code = 1


class InputError(TransduceError, ValueError):
    """Something the user gave is wrong."""

    exit_code = 2


class ConfigError(InputError):
    """An experiment, a setting or an option that does not hold."""


class DataError(InputError):
    """A text file that cannot be read or used, with its place where one is known."""

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.path, self.line, self.column = path, line, column
        place = ", ".join(
            part
            for part in (
                str(path) if path is not None else "",
                f"line {line}" if line is not None else "",
                f"column {column}" if column is not None else "",
            )
            if part
        )
        super().__init__(f"{place}: {message}" if place else message)


class RunError(InputError):
    """A run folder that is missing, incomplete, damaged or of another shape."""


class TrainingError(TransduceError):
    """Training that cannot go on, such as a loss that is not finite."""


@contextmanager
def told(path: Path) -> Iterator[None]:
    """A file that cannot be written, on a full disk for one, as a `TransduceError` that names it."""
    try:
        yield
    except OSError as error:
        raise TransduceError(f"{path}: could not be written ({error.strerror or error})") from None


_SIGNS = ("out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED")
"""What allocators write into a plain RuntimeError: CUDA and MPS, PyTorch's on the CPU (Linux, elsewhere), cuBLAS."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether an allocator raised it."""
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in _SIGNS)
