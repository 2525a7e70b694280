"""What a vocabulary offers to a tokenizer, and the vocabularies that are plain lists of pieces."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Literal

from transduce.text.specials import RESERVED, UNK

FORBIDDEN = re.compile("[\0\r\n\ufeff]+")
"""Characters that no learned piece may hold: NUL, CR, LF and the byte order mark."""

LONGEST_PIECE = 1000
"""Characters of a piece at most; longer words are not learned and so come out as unknown."""

MOST_PIECES = 1_000_000
"""Pieces of a vocabulary at most."""

_UNSAFE = re.compile("[\0\r\n]")
PieceKind = Literal["character", "word", "sentences", "pieces", "line"]

FULL_STOP, FULL_STOP_ID = ".", RESERVED
"""The word that ends a sentence, and its id in every vocabulary of the kind `sentences`: where sentences end is
then known from the ids alone."""

_PATTERNS = {
    "character": re.compile(".", re.DOTALL),
    "word": re.compile("[^ \t\0\r\n\ufeff]+"),
    "sentences": re.compile("[^ \t\0\r\n\ufeff]+"),
    "pieces": re.compile("[^ \t\0\r\n\ufeff]+"),
    # From the first to the last character that is no white space.
    "line": re.compile("[^ \t\0\r\n\ufeff](?:[^\0\r\n\ufeff]*[^ \t\0\r\n\ufeff])?"),
}
_CONTINUED = re.compile("@@(?: |$)")


class Vocabulary(ABC):
    """Pieces of text and their ids, which start at `RESERVED`; the ids below are never text."""

    lossless: ClassVar[bool]
    """Whether any line of text comes back exactly from its ids."""
    size: int
    """Number of ids, the reserved ones included."""

    @abstractmethod
    def encode(self, text: str) -> list[int]: ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    @abstractmethod
    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """(id, start, end) of each piece, in characters of the text."""

    @abstractmethod
    def decode(self, ids: Sequence[int], unknown: Iterator[str]) -> str:
        """The text of ids: the next of `unknown` for each `UNK`, nothing for the other reserved ids."""

    @abstractmethod
    def name(self, id: int) -> str:
        """A piece as people can read it; see `readable`."""

    @abstractmethod
    def content(self) -> list[str]:
        """All that has to be stored to build this vocabulary again."""


class PieceVocabulary(Vocabulary):
    """A list of pieces: characters, words (`sentences`: the full stop first), ready-made `@@` pieces, or whole lines.

    Words and pieces are what stands between spaces and tabs (NUL, CR, LF and U+FEFF separate as
    well); which of these stood there is lost. A character vocabulary keeps spaces as characters.
    """

    lossless = False

    def __init__(self, kind: PieceKind, pieces: Sequence[str]) -> None:
        self.kind = kind
        self.size = RESERVED + len(pieces)
        self._pieces = tuple(pieces)
        self._ids = {piece: RESERVED + i for i, piece in enumerate(pieces)}
        self._pattern = _PATTERNS[kind]

    @classmethod
    def train(
        cls,
        kind: PieceKind,
        texts: Iterable[str],
        *,
        size: int,
        minimum_count: int,
    ) -> PieceVocabulary:
        """The most frequent pieces, at most `size` with the reserved ids; equal counts in code point order."""
        pattern = _PATTERNS[kind]
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(pattern.findall(text))
        kept = [
            piece
            for piece, count in counts.items()
            if count >= minimum_count and len(piece) <= LONGEST_PIECE and not FORBIDDEN.search(piece)
        ]
        kept.sort(key=lambda piece: (-counts[piece], piece))
        if kind == "sentences":
            kept = [FULL_STOP, *(piece for piece in kept if piece != FULL_STOP)]
        return cls(kind, kept[: size - RESERVED])

    def encode(self, text: str) -> list[int]:
        get = self._ids.get
        return [get(piece, UNK) for piece in self._pattern.findall(text)]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        return [(self._ids.get(m[0], UNK), m.start(), m.end()) for m in self._pattern.finditer(text)]

    def decode(self, ids: Sequence[int], unknown: Iterator[str]) -> str:
        pieces = [self._piece(id, unknown) for id in ids if id >= RESERVED or id == UNK]
        if self.kind == "character":
            return "".join(pieces)
        text = " ".join(pieces)
        return join_pieces(text) if self.kind == "pieces" else text

    def _piece(self, id: int, unknown: Iterator[str]) -> str:
        return next(unknown) if id == UNK else self._pieces[id - RESERVED]

    def name(self, id: int) -> str:
        return readable(self._pieces[id - RESERVED])

    def content(self) -> list[str]:
        return list(self._pieces)


def join_pieces(text: str) -> str:
    """Words again from ready-made pieces: `@@ ` joins a piece to the next one."""
    return _CONTINUED.sub("", text)


def readable(text: str) -> str:
    """The text with each invisible or line-breaking character, the space apart, as `<U+200C>`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)


def one_line(text: str) -> str:
    """Model output that stays in its line: a space for each NUL, carriage return and line feed."""
    return _UNSAFE.sub(" ", text)
