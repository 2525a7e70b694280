"""Which pairs are left out of training, each for a stated reason; none in silence."""

from __future__ import annotations

import hashlib
import unicodedata
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Literal

from pydantic import Field

from transduce.config import Config
from transduce.data.corpus import NO_BUILTINS, Builtins, CorpusConfig, RawPair, Through, read_pairs
from transduce.data.report import CorpusReport, Report

INVALID_UTF8 = "not UTF-8"
HELD_OUT = "also in the held-out text"
DUPLICATE = "duplicate"
TOO_LONG = "too long"
NO_TOKENS = "no tokens"

BYTE_ORDER_MARK = "\ufeff"


class FilterConfig(Config):
    """What a pair must be like to be used. Blank sides and lone surrogates are always left out."""

    max_length: int = Field(default=250, ge=1)
    """Most tokens on either side. The end mark is not counted: a text of exactly `max_length` stays."""
    max_characters: int = Field(default=5000, ge=1)
    """Most characters (code points) on either side, checked before the text is cut into tokens."""
    max_ratio: float = Field(default=9.0, ge=1.0)
    """Longer side over shorter side, in UTF-8 bytes: they differ less between scripts than characters
    do, since a Han character says as much as three or four letters and takes three bytes."""
    ratio_minimum: int = Field(default=60, ge=0)
    """Bytes up to which the longer side may be any number of times the shorter: short pairs vary."""
    duplicates: Literal["keep", "drop"] = "drop"
    """What to do with a pair that occurred before, in this corpus or an earlier one."""
    held_out: Literal["keep", "drop"] = "drop"
    """What to do with a training pair that the validation or test text holds as well."""
    drop_copies: bool = False
    """Leave out pairs whose two sides are the same text."""
    invalid_utf8: Literal["stop", "drop"] = "stop"
    """What to do at a line that is not UTF-8."""
    max_dropped: float = Field(default=0.2, ge=0.0, le=1.0)
    """Share of a corpus that may be left out (duplicates don't count) before the program stops."""


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: only spaces, controls and invisible format characters."""
    return all(c.isspace() or unicodedata.category(c) in ("Cc", "Cf") for c in text)


def empty_side(pair: RawPair, config: FilterConfig) -> str | None:
    source, target = is_blank(pair.source), is_blank(pair.target)
    if source and target:
        return "empty source and target"
    return "empty source" if source else "empty target" if target else None


def lone_surrogate(pair: RawPair, config: FilterConfig) -> str | None:
    """Half of a UTF-16 pair, which a JSON escape can bring in: no text, and no tokenizer takes it."""
    try:
        pair.source.encode()
        pair.target.encode()
    except UnicodeEncodeError:
        return "lone surrogate"
    return None


def too_many_characters(pair: RawPair, config: FilterConfig) -> str | None:
    return "too many characters" if max(len(pair.source), len(pair.target)) > config.max_characters else None


def length_ratio(pair: RawPair, config: FilterConfig) -> str | None:
    short, long = sorted((len(pair.source.encode()), len(pair.target.encode())))
    return "length ratio" if long > config.ratio_minimum and long > config.max_ratio * short else None


def copied(pair: RawPair, config: FilterConfig) -> str | None:
    return "copy" if config.drop_copies and pair.source.strip() == pair.target.strip() else None


TEXT_FILTERS: tuple[Callable[[RawPair, FilterConfig], str | None], ...] = (
    empty_side,
    lone_surrogate,
    too_many_characters,
    length_ratio,
    copied,
)
"""In this order; the first reason found is the one reported."""


def token_filter(source: Sequence[int], target: Sequence[int], config: FilterConfig) -> str | None:
    """The reason to leave out a pair once it is ids (without end marks), or None."""
    if max(len(source), len(target)) > config.max_length:
        return TOO_LONG
    return None if len(source) and len(target) else NO_TOKENS


def fingerprint(pair: RawPair) -> int:
    """Eight bytes, never 0, that tell pairs apart: among 10⁸ pairs, one wrong match in 3,700 corpora."""
    source = pair.source.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(len(source).to_bytes(8, "little"), digest_size=8)
    digest.update(source)
    digest.update(pair.target.encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "little") or 1


class FingerprintSet:
    """A set of fingerprints in 12 to 24 bytes each; Python's own takes about 80.

    Open addressing with linear probing, at most two thirds full; 0 marks a free place.
    """

    def __init__(self, fingerprints: Iterable[int] = ()) -> None:
        self._table = array("Q", bytes(8 << 10))
        self._count = 0
        for item in fingerprints:
            self.add(item)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, item: object) -> bool:
        return isinstance(item, int) and self._table[self._place(item)] == item

    def add(self, item: int) -> bool:
        """Add a fingerprint; return whether it is new."""
        place = self._place(item)
        if self._table[place] == item:
            return False
        self._table[place] = item
        self._count += 1
        if 3 * self._count > 2 * len(self._table):
            self._grow()
        return True

    def _place(self, item: int) -> int:
        table, mask = self._table, len(self._table) - 1
        place = item & mask
        while table[place] and table[place] != item:
            place = (place + 1) & mask
        return place

    def _grow(self) -> None:
        old, self._table = self._table, array("Q", bytes(16 * len(self._table)))
        for item in old:
            if item:
                self._table[self._place(item)] = item


def filter_pairs(
    pairs: Iterable[RawPair],
    config: FilterConfig,
    report: CorpusReport,
    *,
    seen: FingerprintSet | None = None,
    held_out: Container[int] = (),
) -> Iterator[RawPair]:
    """Yield the pairs that stay, in order and with their numbers; count the others in `report`.

    A byte order mark inside a text is a trace of joined files, not language: it is reported and
    removed. Everything else in a text stays as it is. `seen` carries fingerprints from one corpus to
    the next. Raises nothing, whatever the text.
    """
    seen = FingerprintSet() if seen is None else seen
    for found in pairs:
        report.observe(found.source, found.target, found.number)
        pair = _without_marks(found)
        reason = next((r for check in TEXT_FILTERS if (r := check(pair, config))), None)
        if reason is None:
            mark = fingerprint(pair)
            if mark in held_out:
                if config.held_out == "drop":
                    reason = HELD_OUT
                else:
                    report.warn(pair.number, HELD_OUT)
            if reason is None and config.duplicates == "drop" and not seen.add(mark):
                reason = DUPLICATE
        if reason is None:
            report.keep()
            yield pair
        else:
            report.drop(pair.number, reason)


def clean_pairs(
    corpora: Sequence[CorpusConfig],
    config: FilterConfig,
    report: Report,
    *,
    builtins: Builtins = NO_BUILTINS,
    held_out: Container[int] = (),
    through: Through = iter,
) -> Iterator[tuple[int, RawPair]]:
    """Read and filter several corpora; yields (index of the corpus, pair). Fills `report` anew.

    The tokenizer should learn from these pairs: what is left out of training then has no say in it.
    """
    report.corpora.clear()
    seen = FingerprintSet()
    for index, corpus in enumerate(corpora):
        part = CorpusReport(corpus.name)
        report.corpora.append(part)

        def invalid(number: int, part: CorpusReport = part) -> None:
            part.read += 1
            part.drop(number, INVALID_UTF8)

        pairs = read_pairs(corpus, builtins=builtins, on_invalid=invalid if config.invalid_utf8 == "drop" else None)
        for pair in filter_pairs(through(pairs), config, part, seen=seen, held_out=held_out):
            yield index, pair


def fingerprints(
    corpora: Sequence[CorpusConfig], config: FilterConfig, *, builtins: Builtins = NO_BUILTINS
) -> FingerprintSet:
    """Fingerprints of all pairs of the held-out text, to know them when the training text has them."""
    skip = (lambda number: None) if config.invalid_utf8 == "drop" else None
    return FingerprintSet(
        fingerprint(_without_marks(pair))
        for corpus in corpora
        for pair in read_pairs(corpus, builtins=builtins, on_invalid=skip)
    )


def _without_marks(pair: RawPair) -> RawPair:
    if BYTE_ORDER_MARK not in pair.source and BYTE_ORDER_MARK not in pair.target:
        return pair
    source, target = (text.replace(BYTE_ORDER_MARK, "") for text in (pair.source, pair.target))
    return RawPair(source, target, pair.number)
