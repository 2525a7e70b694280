"""Encoded examples on disk, read through memory maps: a corpus of any size costs no memory.

A store is a folder of raw little-endian arrays and a JSON header that says how long each must be.
It is written aside and renamed as a whole: it exists completely or not at all.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from transduce.config import shown
from transduce.errors import RunError, told

T = TypeVar("T")

FORMAT = 1
CHUNK = 10_000
"""Examples held in memory while a store is written."""
ORIGINS_SHOWN = 5
"""How many examples a message names."""
HEADER = "header.json"
_ID_TYPES = ("<u2", "<i4")


class Example(NamedTuple):
    """One example to store."""

    ids: Mapping[str, Sequence[int]]
    """For each stream, token ids without an end mark."""
    line: int
    """Where it stands in its corpus, from 1."""
    corpus: int
    """Which corpus it comes from, from 0."""


class Store:
    """Examples 0 … n−1: for each stream their ids, and where each came from."""

    def __init__(self, folder: Path, header: Mapping[str, Any]) -> None:
        n = _count(header["examples"])
        self.folder = folder
        self.key: str = header["key"]
        self._lines: NDArray[np.int64] = _map(folder / "lines.bin", "<i8", n)
        self._corpora: NDArray[np.int32] = _map(folder / "corpora.bin", "<i4", n)
        self._ids: dict[str, NDArray[Any]] = {}
        self._offsets: dict[str, NDArray[np.int64]] = {}
        self._lengths: dict[str, NDArray[np.int32]] = {}
        for name, stream in header["streams"].items():
            if stream["dtype"] not in _ID_TYPES:
                raise ValueError(f"ids of type {str(stream['dtype'])[:40]}")
            tokens = _count(stream["tokens"])
            self._ids[name] = _map(folder / f"{name}.ids.bin", stream["dtype"], tokens)
            self._offsets[name] = _map(folder / f"{name}.offsets.bin", "<i8", n + 1)
            ends = self._offsets[name]
            if ends[0] != 0 or ends[-1] != tokens or (ends[1:] < ends[:-1]).any():
                raise RunError(f"{folder}: the offsets of `{name}` don't fit its tokens; the store is damaged")

    @classmethod
    def build(
        cls,
        folder: Path,
        vocabularies: Mapping[str, int],
        examples: Iterable[Example],
        *,
        key: str = "",
        finish: Callable[[Path], None] | None = None,
    ) -> Store:
        """Write the examples, `CHUNK` at a time, into `folder`, which must not exist, and open it.

        `vocabularies` names the streams and bounds their ids: up to 65,536 take two bytes a token.
        `finish` may put more files into the folder (or refuse) before it appears under its name.
        If another process finishes the same store first, that one is used.
        """
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(folder)
        aside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
        aside.mkdir()
        lock = _lock(aside)
        try:
            with told(folder):
                _write(aside, vocabularies, examples, key)
                if finish is not None:
                    finish(aside)
                try:
                    aside.rename(folder)
                except OSError:
                    if not folder.is_dir():
                        raise
            store = cls.open(folder)
            if store.key != key:
                raise RunError(f"{folder} exists and holds something else; remove it or choose another place")
            return store
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            os.close(lock)

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Open a store. `RunError` if it is missing, of another format, or a file isn't as long as it must be."""
        try:
            header = json.loads((folder / HEADER).read_bytes())
            if header["format"] != FORMAT:
                raise RunError(f"{folder}: store of format {shown(header['format'])}, expected {FORMAT}; build it anew")
            return cls(folder, header)
        except FileNotFoundError as error:
            raise RunError(f"{folder}: no complete store: {error.filename} is missing") from None
        except OSError as error:
            raise RunError(f"{folder}: cannot be read ({error.strerror})") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, RunError):
                raise
            raise RunError(f"{folder / HEADER}: damaged header ({error}); build the store anew") from None

    def check(self, vocabularies: Mapping[str, int], corpora: int) -> None:
        """Raise RunError unless every id is in its stream's vocabulary and every example in one of `corpora`.

        Everything is read once, which takes far less than the training that would fail on a wrong id.
        """
        if self.streams != tuple(vocabularies):
            raise RunError(f"{self.folder}: it holds other streams than {' and '.join(vocabularies)}")
        bounds = {f"{name}.ids": (self._ids[name].dtype, size) for name, size in vocabularies.items()}
        for part, (dtype, bound) in {**bounds, "corpora": (self._corpora.dtype, corpora)}.items():
            # Read, not mapped: what is mapped would count as memory of this process from here on.
            with (self.folder / f"{part}.bin").open("rb") as file:
                while len(block := np.fromfile(file, dtype, 1 << 20)):
                    if not 0 <= block.min() <= block.max() < bound:
                        raise RunError(f"{self.folder / part}.bin: a number that is not below {bound:,}")

    def __len__(self) -> int:
        return len(self._lines)

    def release(self) -> None:
        """Let go of what was mapped so far: it stays in the system's cache, and is no memory of this process's.

        Examples are read in any order, and with each the kernel maps 16 pages: soon all of a store.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            arrays: list[NDArray[Any]] = [self._lines, self._corpora, *self._ids.values(), *self._offsets.values()]
            for array in arrays:
                mapped = getattr(array.base, "base", None)  # array → memmap → mmap
                if isinstance(mapped, mmap.mmap):
                    mapped.madvise(mmap.MADV_DONTNEED)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(self._ids)

    def ids(self, name: str, index: int) -> NDArray[Any]:
        """Token ids of one example, without end mark: a read-only view of the file (uint16 or int32)."""
        offsets = self._offsets[name]
        return self._ids[name][offsets[index] : offsets[index + 1]]

    def lengths(self, name: str) -> NDArray[np.int32]:
        """Tokens of each example, (n,), without end mark; kept, since every update asks."""
        if name not in self._lengths:
            self._lengths[name] = np.diff(self._offsets[name]).astype(np.int32)
        return self._lengths[name]

    def line(self, index: int) -> int:
        """Line number of an example in its corpus, from 1."""
        return int(self._lines[index])

    def corpus(self, index: int) -> int:
        """Which corpus an example comes from, from 0."""
        return int(self._corpora[index])

    def origin(self, examples: NDArray[Any], corpora: Sequence[str]) -> str:
        """Where the first few of these examples come from, for a message; `corpora` are the names of all."""
        lines: dict[int, list[str]] = {}
        for i in map(int, examples[:ORIGINS_SHOWN]):
            lines.setdefault(self.corpus(i), []).append(str(self.line(i)))
        words = [f"line{'s' * (len(of) > 1)} {', '.join(of)} of {corpora[corpus]}" for corpus, of in lines.items()]
        return "; ".join(words) + ("; …" if len(examples) > ORIGINS_SHOWN else "")

    def weights(self, of_corpora: Sequence[float]) -> NDArray[np.float64] | None:
        """Each example's weight, (n,), from its corpus's; None if every corpus weighs 1."""
        if all(weight == 1.0 for weight in of_corpora):
            return None
        return np.asarray(of_corpora, dtype=np.float64)[self._corpora]


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, the last one shorter (itertools has it from Python 3.12 on)."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _lock(folder: Path) -> int:
    """Hold a folder for as long as this process lives, or until the descriptor is closed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed processes had written of this store; what a living one writes is locked."""
    for aside in folder.parent.glob(f".{folder.name}.*"):
        with suppress(OSError):
            lock = _lock(aside)
            shutil.rmtree(aside, ignore_errors=True)
            os.close(lock)


def _write(folder: Path, vocabularies: Mapping[str, int], examples: Iterable[Example], key: str) -> None:
    for name in vocabularies:
        if not name.isidentifier():
            raise ValueError(f"a stream's name becomes a file's name: expected an identifier, got {name!r}")
    dtypes = {name: _ID_TYPES[size > 1 << 16] for name, size in vocabularies.items()}
    tokens = dict.fromkeys(vocabularies, 0)
    count = 0
    names = ["lines", "corpora", *(f"{name}.{part}" for name in vocabularies for part in ("ids", "offsets"))]
    # On a full disk each file fails to close in its turn; the stack closes the others all the same.
    with ExitStack() as stack:
        files = {part: stack.enter_context((folder / f"{part}.bin").open("xb")) for part in names}
        for name in vocabularies:
            files[f"{name}.offsets"].write(np.zeros(1, "<i8").tobytes())
        for chunk in batched(examples, CHUNK):
            count += len(chunk)
            files["lines"].write(np.array([example.line for example in chunk], "<i8").tobytes())
            files["corpora"].write(np.array([example.corpus for example in chunk], "<i4").tobytes())
            for name, size in vocabularies.items():
                rows = [example.ids[name] for example in chunk]
                ends = tokens[name] + np.cumsum([len(row) for row in rows], dtype="<i8")
                ids = np.fromiter(chain.from_iterable(rows), np.int64, int(ends[-1]) - tokens[name])
                if ids.size and not 0 <= ids.min() <= ids.max() < size:
                    raise ValueError(f"`{name}`: ids from {ids.min()} to {ids.max()} in a vocabulary of {size}")
                files[f"{name}.ids"].write(ids.astype(dtypes[name]).tobytes())
                files[f"{name}.offsets"].write(ends.tobytes())
                tokens[name] = int(ends[-1])
        for file in files.values():
            file.flush()
            os.fsync(file.fileno())
    streams = {name: {"dtype": dtypes[name], "tokens": tokens[name]} for name in vocabularies}
    header = {"format": FORMAT, "key": key, "examples": count, "streams": streams}
    (folder / HEADER).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"expected a number of examples or tokens, got {shown(value)}")
    return value


def _map(path: Path, dtype: str, count: int) -> NDArray[Any]:
    """A file as an array of exactly `count` items."""
    expected = np.dtype(dtype).itemsize * count
    found = path.stat().st_size
    if found != expected:
        raise RunError(f"{path}: {found} bytes, expected {expected}; the store is truncated or damaged")
    if count == 0:
        return np.empty(0, dtype)  # an empty file can't be mapped
    # A plain array over the map: numpy's memmap class makes every slice about ten times dearer.
    return np.asarray(np.memmap(path, dtype=dtype, mode="r"))


def cached_store(folder: Path, build: Callable[[Path], Store], validate: Callable[[Store], object] = len) -> Store:
    """The store in a cache's folder: built if it isn't there, and built anew if it is damaged.

    `validate` may raise `RunError` as well, for what lies beside the arrays.
    """
    try:
        store = Store.open(folder)
        validate(store)
        return store
    except RunError:
        shutil.rmtree(folder, ignore_errors=True)
    return build(folder)
