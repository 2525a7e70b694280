"""The tokens of a text and where they stand in it: what the positions of a recorded tensor mean to people."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from transduce.text.specials import MASK, NAMES, RESERVED
from transduce.text.tokenizer import Tokenizer
from transduce.text.vocabulary import readable
from transduce.translator.filling import BLANK

By = Literal["pieces", "characters", "words"]
"""What a row or a column of a picture stands for."""

_HAN = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH")
_WORD = re.compile(r"l+(?:'l+)*|[ho']")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text, or a mark."""

    id: int
    piece: str
    """As people can read it; some bytes of a character show as `<E6 B0>`."""
    start: int
    end: int
    """The characters that it covers, the end excluded; none for a mark. All bytes of a character cover all of it."""
    word: int | None
    """Number of the first word that it covers any of, from 0; None for a mark and for mere white space."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Tokens that are shown as one row or column."""

    label: str
    start: int
    end: int
    tokens: tuple[int, ...]
    """Their places in the table, from 0."""


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The tokens of one stream of a model, in the order of the text."""

    text: str
    tokens: tuple[Token, ...]
    words: tuple[tuple[int, int], ...]
    """Start and end of each word in the text."""

    def units(self, by: By = "pieces") -> tuple[Unit, ...]:
        """Pieces (those that share a character as one), characters or words; marks always stand for themselves.

        White space is a character of its own only where a piece holds nothing else.
        """
        if by == "characters":
            return self._grouped([[(i, i + 1) for i in self._characters(token)] for token in self.tokens])
        if by == "words":
            places = [self.words[t.word] if t.word is not None else (t.start, t.end) for t in self.tokens]
            return self._grouped([[place] if place[0] < place[1] else [] for place in places])
        return self._grouped([[place] if place[0] < place[1] else [] for place in self._folded()])

    def membership(self, by: By = "pieces") -> Float[np.ndarray, "n u"]:
        """Share of each token in each unit: a token of several characters is divided among them, rows sum to 1."""
        units = self.units(by)
        shares = np.zeros((len(self.tokens), len(units)))
        for column, unit in enumerate(units):
            shares[list(unit.tokens), column] = 1.0
        return shares / shares.sum(1, keepdims=True)

    def ids(self) -> list[int]:
        return [token.id for token in self.tokens]

    def _characters(self, token: Token) -> list[int]:
        places = range(token.start, token.end)
        return [i for i in places if not self.text[i].isspace()] or list(places)

    def _folded(self) -> list[tuple[int, int]]:
        """The place of each token, joined with its neighbours' where they hold bytes of one character."""
        places: list[tuple[int, int]] = []
        for token in self.tokens:
            start, end = token.start, token.end
            if places and start < end and start < places[-1][1]:
                start, end = places[-1][0], max(end, places[-1][1])
                places = [(start, end) if place[1] > token.start else place for place in places]
            places.append((start, end))
        return places

    def _grouped(self, places: Sequence[Sequence[tuple[int, int]]]) -> tuple[Unit, ...]:
        """A unit for each place that tokens have, in the order of the first token; a mark has none and is its own."""
        members: dict[tuple[int, int] | int, list[int]] = {}
        for i, of in enumerate(places):
            keys: Sequence[tuple[int, int] | int] = of or [i]
            for key in keys:
                members.setdefault(key, []).append(i)
        return tuple(self._unit(key, tuple(tokens)) for key, tokens in members.items())

    def _unit(self, key: tuple[int, int] | int, tokens: tuple[int, ...]) -> Unit:
        if isinstance(key, int):
            token = self.tokens[key]
            return Unit(token.piece, token.start, token.end, tokens)
        start, end = key
        return Unit(readable(self.text[start:end].strip()) or "␣", start, end, tokens)


Span = tuple[int, int, int]
"""Id, start and end of a piece in a text."""


def spans_of_text(tokenizer: Tokenizer, text: str) -> list[Span]:
    """Where the pieces of a given text stand in it."""
    return [(piece.id, piece.start, piece.end) for piece in tokenizer.pieces(text)]


def spans_with_blanks(tokenizer: Tokenizer, text: str) -> list[Span]:
    """The same of a text with blanks, as `transduce.translator.filling` encodes it: a blank is one token, and with
    byte-level BPE the space before it is its own."""
    spans: list[Span] = []
    start = 0
    for part in text.split(BLANK):
        if start:
            before = text[start - len(BLANK) - 1] == " " and tokenizer.config.kind == "bpe"
            spans.append((MASK, start - len(BLANK) - before, start))
        at = start
        start += len(part) + len(BLANK)
        if start <= len(text) and tokenizer.config.kind == "bpe":
            part = part.removesuffix(" ")
        spans += [(id, at + a, at + b) for id, a, b in spans_of_text(tokenizer, part)]
    return spans


def spans_of_ids(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, list[Span]]:
    """The text that ids spell, and where each of them stands in it.

    Output need not be cut as the tokenizer would cut it, so places follow from how the text grows with each id.
    """
    text = tokenizer.decode(ids)
    spans = []
    start = 0
    for i, id in enumerate(ids):
        grown = tokenizer.decode(ids[: i + 1])
        after = _common(grown, text)
        # Bytes of a character that later ones complete stand as U+FFFD until then.
        end = after + (len(grown) > after)
        # Words of a word vocabulary are joined by spaces that belong to none of them.
        joined = end - start > 1 and text[start] == " " and tokenizer.piece_name(id)[0] != " "
        # Several bytes of a character that never becomes whole are one U+FFFD.
        broken = end == start > 0 and id >= RESERVED
        spans.append((id, start + joined - broken, end))
        start = after
    return text, spans


def token_table(tokenizer: Tokenizer, text: str, spans: Sequence[Span], ids: Sequence[int]) -> TokenTable:
    """The tokens of a stream: those of a text in order, and marks before, between or behind them.

    A blank (`MASK`) stands in the place of a piece, and covers what it covers.
    """
    places = words(text)
    tokens = []
    waiting = list(spans)
    for id in ids:
        if waiting and id in (waiting[0][0], MASK):
            _, start, end = waiting.pop(0)
            tokens.append(Token(id, tokenizer.piece_name(id), start, end, _word(places, start, end)))
        else:
            at = waiting[0][1] if waiting else len(text)
            tokens.append(Token(id, NAMES[id], at, at, None))
    return TokenTable(text, tuple(tokens), tuple(places))


def words(text: str) -> list[tuple[int, int]]:
    """Start and end of each word: a run of letters, marks and digits, with apostrophes inside it; a Han character,
    since nothing in the text says where Chinese words end; or any other sign. White space belongs to no word."""
    return [match.span() for match in _WORD.finditer("".join(map(_kind, text)))]


def _kind(c: str) -> str:
    if c.isspace():
        return " "
    if c in "'’":
        return "'"
    if unicodedata.name(c, "").startswith(_HAN):
        return "h"
    return "l" if unicodedata.category(c)[0] in "LMN" else "o"


def _word(places: Sequence[tuple[int, int]], start: int, end: int) -> int | None:
    return next((i for i, (a, b) in enumerate(places) if a < end and start < b), None)


def _common(first: str, second: str) -> int:
    """Length of what two texts begin with alike."""
    return next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
