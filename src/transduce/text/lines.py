"""What a line is: only a line feed ends one, and a single carriage return before it belongs to the ending.

`str.splitlines` and text-mode files also break at U+2028, U+0085, form feeds and lone carriage
returns; one such character in one of two aligned files shifts every pair after it. So files are read
as bytes here, cut at line feeds, and decoded one line at a time.
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from transduce.errors import DataError

BOM = b"\xef\xbb\xbf"
"""The byte order mark in UTF-8 (U+FEFF), no part of the text at the start of a file."""

LONGEST_LINE = 64 * 2**20
"""Bytes after which a line without a line feed is taken for something other than text."""

_BUFFER = 2**16
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE = re.compile(r"([^\n]*?)(\r?\n|\Z)")
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a byte stream; `content + ending` are its bytes, a leading BOM of the file apart."""

    content: bytes
    ending: bytes
    """`\\n`, `\\r\\n`, or nothing on a last line that has no line feed."""
    number: int
    """Counted from 1."""


class _Guarded(io.RawIOBase):
    """A stream whose failures name its own file, however many files are open at once."""

    def __init__(self, inner: IO[bytes], path: Path) -> None:
        self._inner = cast(io.BufferedReader, inner)
        self._path = path
        self.name = str(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        # readinto1 returns what a pipe holds now; readinto would wait until the buffer is full.
        try:
            return self._inner.readinto1(buffer)
        except _DAMAGE as error:
            raise DataError(
                f"cannot be read to its end ({_cause(error)}); the file is damaged or incomplete: "
                "copy or download it again",
                path=self._path,
            ) from error

    def close(self) -> None:
        self._inner.close()
        super().close()


def _cause(error: BaseException) -> str:
    return str(error) or type(error).__name__


@contextmanager
def open_binary(path: Path | str) -> Iterator[BinaryIO]:
    """Open a file for reading as bytes; names ending in `.gz` and `.xz` are decompressed.

    Raises:
        DataError: the file is missing, a folder or not readable; or, while it is being read, the
            archive turns out to be damaged or cut off.
    """
    path = Path(path)
    openers: dict[str, Callable[[Path, str], object]] = {".gz": gzip.open, ".xz": lzma.open}
    opener = openers.get(path.suffix.lower(), open)
    try:
        inner = cast(IO[bytes], opener(path, "rb"))
    except FileNotFoundError as error:
        raise DataError("no such file; check the path", path=path) from error
    except IsADirectoryError as error:
        raise DataError("is a folder, expected a text file; name a file inside it", path=path) from error
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be opened ({_cause(error)}); check its permissions", path=path) from error
    with io.BufferedReader(_Guarded(inner, path), _BUFFER) as stream:
        yield stream


def iterate_lines(stream: BinaryIO) -> Iterator[Line]:
    """Cut a stream into lines, each given out as soon as it has arrived.

    An empty stream has no lines; a last line without a line feed counts. A BOM at the very start is
    left out. Memory is bounded by the longest line.

    Raises:
        DataError: a line is longer than `LONGEST_LINE` bytes.
    """
    number = 0
    while data := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(data) > LONGEST_LINE:
            raise DataError(
                f"no line feed in {LONGEST_LINE:,} bytes, expected lines of text; "
                "check that this is a text file, and break its lines",
                path=str(getattr(stream, "name", "the input")),
                line=number,
            )
        if number == 1:
            data = data.removeprefix(BOM)
            if not data:
                return
        content = data.removesuffix(b"\n")
        if len(content) < len(data):
            content = content.removesuffix(b"\r")
        yield Line(content, data[len(content) :], number)


def decode(content: bytes, path: Path | str | None, number: int) -> str:
    """The text of a line, strictly UTF-8.

    Raises:
        DataError: a byte sequence is not UTF-8; names the file, line and column (in characters, from 1).
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(content[: error.start].decode("utf-8")) + 1
        utf16 = number == 1 and content[:2] in (b"\xff\xfe", b"\xfe\xff")
        encoding = "UTF-16" if utf16 else "LATIN1"
        raise DataError(
            f"not UTF-8 (byte 0x{content[error.start]:02x}); if the file is in another encoding, convert it, "
            f"for example `iconv -f {encoding} -t UTF-8 FILE > NEW_FILE`",
            path=path,
            line=number,
            column=column,
        ) from None


def repair(content: bytes) -> tuple[str, bool]:
    """The text of a line with U+FFFD for what is not UTF-8, and whether anything was replaced."""
    try:
        return content.decode("utf-8"), False
    except UnicodeDecodeError:
        return content.decode("utf-8", errors="replace"), True


def read_lines(path: Path | str) -> Iterator[str]:
    """The lines of a file without their endings; anything that is not UTF-8 raises DataError."""
    with open_binary(path) as stream:
        for line in iterate_lines(stream):
            yield decode(line.content, path, line.number)


def split_text(text: str) -> list[tuple[str, str]]:
    """Cut a text into (content, ending) by the same rule as a file; joined, they are the text again."""
    return [(match[1], match[2]) for match in _LINE.finditer(text) if match[0]]


def unbroken(text: str) -> str:
    """The text as one line: a space for its line breaks, blank lines and the white space around them. What stands
    before its first other character and after its last stays as it is."""
    core = text.strip()
    start = text.index(core)
    line = " ".join(filter(None, map(str.strip, core.split("\n"))))
    return text[:start] + line + text[start + len(core) :]


def has_letter(text: str) -> bool:
    """Whether a text holds a letter of any script; digits, signs and emoji are none."""
    return any(map(str.isalpha, text))


def safe(text: str) -> str:
    """The text with U+FFFD for lone surrogates, which no encoding can hold; as long as before."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text
