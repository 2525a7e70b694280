"""Parallel text as it comes: two aligned files, TSV, JSONL or a corpus built into the program.

Everything here streams. A corpus is read several times (counting, checksum, tokenizer, encoding), so
it must be a regular file; nothing of it is ever held in memory whole.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from transduce.config import Config
from transduce.errors import ConfigError, DataError
from transduce.text import lines

Builtins = Mapping[str, Callable[[], Iterable[tuple[str, str]]]]
"""Readers of the corpora that ship with the program, by name; each call starts from the first pair."""

NO_BUILTINS: Builtins = MappingProxyType({})

OnInvalid = Callable[[int], object]
"""Told the number of each line that is not UTF-8; the line is then left out."""


class RawPair(NamedTuple):
    """A pair as the file has it, without its line ending."""

    source: str
    target: str
    number: int
    """Line number in the file, or place in a built-in corpus, from 1."""


Through = Callable[[Iterable[RawPair]], Iterable[RawPair]]
"""Hands on the pairs of each corpus as they are read: a `Pass` counts them."""


class CorpusConfig(Config):
    """One corpus: exactly one of `source` + `target`, `tsv`, `jsonl`, `text` and `builtin`."""

    source: Path | None = None
    """File of source sentences, one a line; plain, .gz or .xz. Needs `target`."""
    target: Path | None = None
    """File of target sentences: line n translates line n of `source`."""
    tsv: Path | None = None
    """File with a pair a line, columns separated by tabs; no quoting. Plain, .gz or .xz."""
    source_column: int = Field(default=1, ge=1)
    """Column of the source in `tsv`, from 1."""
    target_column: int = Field(default=2, ge=1)
    """Column of the target in `tsv`, from 1."""
    jsonl: Path | None = None
    """File with a JSON object a line; plain, .gz or .xz."""
    source_field: str = "source"
    """Name of the source text in an object of `jsonl`."""
    target_field: str = "target"
    """Name of the target text in an object of `jsonl`."""
    text: Path | None = None
    """File of texts, one a line, that have no translation (tasks `mask` and `generate`); plain, .gz or .xz."""
    builtin: (
        Literal[
            "demo-train", "demo-valid", "demo-test", "demo-long", "senses-train", "senses-valid", "senses-test",
            "dates-train", "dates-valid", "dates-test", "questions-train", "questions-valid", "questions-test",
            "questions-test-one-fact", "questions-test-two-facts", "questions-test-yes-no", "questions-test-counting",
        ]
        | None
    ) = None  # fmt: skip
    """A corpus that the program makes: demo (synthetic, Chinese to English), senses (its Chinese sentences with 水, and
    what 水 is in each: labels), dates (to ISO form), questions (about stories, of four kinds, to answers)."""
    only: Literal["source", "target"] | None = None
    """Take one side of the pairs, as texts that have no translation."""
    weight: float = Field(default=1.0, gt=0, le=10_000)
    """Expected number of times that each pair is seen per epoch; 0.5 leaves half out, 2 shows it twice."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.source is None) != (self.target is None):
            raise ValueError("`source` and `target` belong together: give both files")
        kinds = [n for n in ("source", "tsv", "jsonl", "text", "builtin") if getattr(self, n) is not None]
        if len(kinds) != 1:
            given = " and ".join(f"`{kind}`" for kind in kinds) or "nothing"
            raise ValueError(f"give exactly one of `source` + `target`, `tsv`, `jsonl`, `text`, `builtin`; got {given}")
        if self.text is not None and self.only is not None:
            raise ValueError("`only` takes one side of pairs; `text` has none, so leave it out")
        if self.tsv is None and (self.source_column, self.target_column) != (1, 2):
            raise ValueError("`source_column` and `target_column` belong to `tsv`")
        if self.jsonl is None and (self.source_field, self.target_field) != ("source", "target"):
            raise ValueError("`source_field` and `target_field` belong to `jsonl`")
        if self.source_column == self.target_column:
            raise ValueError(f"`source_column` and `target_column` are both {self.source_column}")
        if self.source_field == self.target_field:
            raise ValueError(f"`source_field` and `target_field` are both {self.source_field!r}")
        return self

    @property
    def name(self) -> str:
        """What reports call this corpus."""
        files = self.tsv or self.jsonl or self.text or self.builtin or f"{self.source} + {self.target}"
        return lines.safe(f"{files} (only the {self.only})" if self.only else str(files))

    @property
    def has_pairs(self) -> bool:
        """Whether its texts have a translation, or whatever else stands on the other side."""
        return self.text is None and self.only is None

    def resolve(self, base: Path) -> CorpusConfig:
        """The same corpus with relative paths taken from `base` instead of the current directory."""
        paths = {n: getattr(self, n) for n in ("source", "target", "tsv", "jsonl", "text")}
        return self.model_copy(update={n: base / p.expanduser() for n, p in paths.items() if p is not None})


def read_pairs(
    corpus: CorpusConfig, *, builtins: Builtins = NO_BUILTINS, on_invalid: OnInvalid | None = None
) -> Iterator[RawPair]:
    """Stream the pairs of a corpus in order.

    Raises `DataError` before the first pair for a file that is missing, empty or not regular and for
    different line counts; at the line for a lone TSV column, a JSON object without its fields and,
    unless `on_invalid` is given, text that is not UTF-8. A blank line is an empty pair. A text without a
    translation is a pair with itself.
    """
    pairs = _read_pairs(corpus, builtins, on_invalid)
    if corpus.only is None:
        return pairs
    sides = ((getattr(pair, corpus.only), pair.number) for pair in pairs)
    return (RawPair(text, text, number) for text, number in sides)


def _read_pairs(corpus: CorpusConfig, builtins: Builtins, on_invalid: OnInvalid | None) -> Iterator[RawPair]:
    if corpus.source is not None and corpus.target is not None:
        return _aligned(corpus.source, corpus.target, on_invalid)
    if corpus.tsv is not None:
        return _tsv(corpus.tsv, corpus.source_column - 1, corpus.target_column - 1, on_invalid)
    if corpus.jsonl is not None:
        return _jsonl(corpus.jsonl, (corpus.source_field, corpus.target_field), on_invalid)
    if corpus.text is not None:
        return (RawPair(text, text, number) for text, number in _lines_of(corpus.text, on_invalid))
    return _builtin(corpus, builtins)


def count_pairs(corpora: Sequence[CorpusConfig], *, builtins: Builtins = NO_BUILTINS) -> int:
    """Number of pairs before any filter; reads bytes only. Raises as `read_pairs` does for whole files."""
    total = 0
    for corpus in corpora:
        if corpus.source is not None and corpus.target is not None:
            total += _count_aligned(corpus.source, corpus.target)
        elif path := corpus.tsv or corpus.jsonl or corpus.text:
            total += _count_some(path)
        else:
            total += sum(1 for _ in _builtin(corpus, builtins))
    return total


def checksum(
    corpora: Sequence[CorpusConfig],
    *,
    builtins: Builtins = NO_BUILTINS,
    on_invalid: OnInvalid | None = None,
    through: Through = iter,
) -> str:
    """SHA-256 over the decoded pairs, so that compression, file names and format don't matter.

    Each text is preceded by its length: no text can imitate the border between two.
    """
    digest = hashlib.sha256()

    def skipped(number: int) -> None:
        digest.update(b"not UTF-8" + number.to_bytes(8, "little"))
        if on_invalid is not None:
            on_invalid(number)

    for corpus in corpora:
        digest.update(b"corpus")
        for pair in through(read_pairs(corpus, builtins=builtins, on_invalid=skipped if on_invalid else None)):
            for text in (pair.source, pair.target):
                content = text.encode("utf-8", "surrogatepass")
                digest.update(len(content).to_bytes(8, "little"))
                digest.update(content)
    return digest.hexdigest()


def files_digest(corpora: Sequence[CorpusConfig]) -> str | None:
    """SHA-256 over the files as they are on disk and how they are read; None where there is one that can't be opened,
    or none at all.

    Where two are equal, so are the checksums: this takes a twentieth of the time, as nothing is unpacked or decoded.
    """
    digest = hashlib.sha256()
    for corpus in corpora:
        paths = [value for _, value in corpus if isinstance(value, Path)]
        how = {name: value.suffix.lower() if isinstance(value, Path) else value for name, value in corpus}
        digest.update(json.dumps({**how, "weight": None}).encode())
        try:
            if not paths or not all(path.is_file() for path in paths):
                return None
            for path in paths:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError:
            return None
    return digest.hexdigest()


def _aligned(source: Path, target: Path, on_invalid: OnInvalid | None) -> Iterator[RawPair]:
    counted = _count_aligned(source, target)
    with _open(source) as source_file, _open(target) as target_file:
        for left, right in zip_longest(lines.iterate_lines(source_file), lines.iterate_lines(target_file)):
            if left is None or right is None:
                raise DataError(f"{source} or {target} changed while being read; there were {counted} lines")
            source_text = _decode(left.content, source, left.number, on_invalid)
            target_text = _decode(right.content, target, right.number, on_invalid)
            if source_text is not None and target_text is not None:
                yield RawPair(source_text, target_text, left.number)
            elif on_invalid is not None:
                on_invalid(left.number)


def _tsv(path: Path, source: int, target: int, on_invalid: OnInvalid | None) -> Iterator[RawPair]:
    for text, number in _lines_of(path, on_invalid):
        columns = text.split("\t")
        if len(columns) > max(source, target):
            yield RawPair(columns[source], columns[target], number)
        elif not text.strip():
            yield RawPair("", "", number)
        else:
            raise DataError(
                f"expected at least {max(source, target) + 1} columns separated by tabs, got {len(columns)}",
                path=path,
                line=number,
            )


def _jsonl(path: Path, fields: tuple[str, str], on_invalid: OnInvalid | None) -> Iterator[RawPair]:
    for text, number in _lines_of(path, on_invalid):
        if not text.strip():
            yield RawPair("", "", number)
            continue
        try:
            item = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"expected a JSON object: {error}", path=path, line=number) from None
        if not isinstance(item, dict):
            raise DataError(f"expected a JSON object, got {type(item).__name__}", path=path, line=number)
        for field in fields:
            if not isinstance(item.get(field), str):
                found = f"it holds {item[field]!r:.80}" if field in item else f"the fields are {', '.join(item)}"
                raise DataError(f"expected a text in field `{field}`; {found}", path=path, line=number)
        yield RawPair(item[fields[0]], item[fields[1]], number)


def _builtin(corpus: CorpusConfig, builtins: Builtins) -> Iterator[RawPair]:
    name = str(corpus.builtin)
    if name not in builtins:
        raise ConfigError(f"no built-in corpus `{name}` here; known: {', '.join(builtins) or 'none'}")
    for number, (source, target) in enumerate(builtins[name](), start=1):
        yield RawPair(source, target, number)


def _lines_of(path: Path, on_invalid: OnInvalid | None) -> Iterator[tuple[str, int]]:
    """Decoded lines and their numbers, of a file with at least one."""
    empty = True
    with _open(path) as stream:
        for line in lines.iterate_lines(stream):
            empty = False
            text = _decode(line.content, path, line.number, on_invalid)
            if text is not None:
                yield text, line.number
            elif on_invalid is not None:
                on_invalid(line.number)
    if empty:
        raise _nothing_in(path)


def _decode(content: bytes, path: Path, number: int, on_invalid: OnInvalid | None) -> str | None:
    """The text, or None where it is not UTF-8 and the caller leaves such lines out."""
    try:
        return lines.decode(content, path, number)
    except DataError:
        if on_invalid is None:
            raise
        return None


def _is_regular(path: Path) -> bool | None:
    """Whether a path leads to a regular file; None where it leads nowhere, as a name that is too long does."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return None


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    # A pipe would give its lines to the first pass and block the second for ever.
    if _is_regular(path) is False:
        raise DataError("expected a regular file: it is read more than once", path=path)
    with lines.open_binary(path) as stream:
        yield stream


def _count_aligned(source: Path, target: Path) -> int:
    counts = _count_some(source), _count_some(target)
    if counts[0] != counts[1]:
        raise DataError(
            f"{source} and {target} have different numbers of lines, {counts[0]} vs {counts[1]}; "
            "line n of one must translate line n of the other"
        )
    return counts[0]


def _count_some(path: Path) -> int:
    count = _count_lines(path)
    if count == 0:
        raise _nothing_in(path)
    return count


def _count_lines(path: Path) -> int:
    """Lines as `lines.iterate_lines` finds them, without making any."""
    count, first, last = 0, True, b""
    with _open(path) as stream:
        while block := stream.read(1 << 20):
            if first:
                block, first = block.removeprefix(b"\xef\xbb\xbf"), False
            count += block.count(b"\n")
            last = block[-1:] or last
    return count + (last not in (b"", b"\n"))


def _nothing_in(path: Path) -> DataError:
    return DataError("the file is empty; expected a sentence a line", path=path)
