"""Text to ids and back, for one side of a pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Literal, Self

from pydantic import Field, model_validator

from transduce.config import Config
from transduce.errors import ConfigError
from transduce.text.bpe import ByteBPE
from transduce.text.lines import safe
from transduce.text.nfkc import clusters, nfkc
from transduce.text.specials import NAMES, RESERVED, UNK
from transduce.text.vocabulary import MOST_PIECES, PieceVocabulary, Vocabulary, join_pieces

UNKNOWN_MARK = "⁇"
"""What stands in output for a piece that the vocabulary lacks (U+2047)."""


Kind = Literal["bpe", "character", "word", "sentences", "pieces", "line"]


class TokenizerConfig(Config):
    """How text becomes ids. Trained in the run, on its training text."""

    kind: Kind = "bpe"
    """`bpe`: byte pair encoding over bytes, lossless for any Unicode text; `character`: each character;
    `word`: words of text that was segmented beforehand, split at spaces; `sentences`: the same, where the word
    `.` ends a sentence; `pieces`: ready-made BPE with
    `@@ ` after each piece that goes on, split at spaces and joined on output; `line`: whole lines, such as
    labels, of which there may be fewer than `vocabulary`. Default `bpe`."""
    target_kind: Kind | None = None
    """The target's kind where it is another than the source's, which needs `joint = false`."""
    joint: bool = True
    """One vocabulary for both sides (paper 5.1), or one for each. Default true."""
    vocabulary: int = Field(8000, gt=RESERVED, le=MOST_PIECES)
    """Size in ids, the 21 reserved ones included; of each side where the vocabulary is not joint.
    The paper has 37,000 for English-German. Default 8000."""
    if_too_large: Literal["stop", "shrink"] = "stop"
    """What to do when the training text cannot fill `vocabulary`: stop and name the largest possible
    size, or take that size. Default `stop`."""
    split_han: bool = False
    """Keep each Han character apart, so that merges never join Chinese words into phrases (`bpe` only).
    Default false."""
    nfkc: bool = False
    """Fold compatibility characters first (`①` to `1`, `ﬁ` to `fi`); no longer lossless. Default false."""
    minimum_count: int = Field(1, ge=1)
    """Occurrences that a character, word or ready-made piece needs to enter the vocabulary (`bpe` has
    its own rule: a pair needs two). Default 1."""

    def of(self, side: str) -> TokenizerConfig:
        """The settings of one side: joint, source or target."""
        own = self.target_kind if side == "target" else None
        return self.model_copy(update={"kind": own or self.kind})

    @model_validator(mode="after")
    def _target_kind_is_its_own(self) -> Self:
        if self.target_kind is not None and self.joint:
            raise ValueError(
                f'tokenizer.target_kind = "{self.target_kind}" needs a vocabulary of its own: set tokenizer.joint = '
                "false, or leave it out"
            )
        return self

    @model_validator(mode="after")
    def _fits_kind(self) -> Self:
        if "bpe" in (self.kind, self.target_kind) and self.vocabulary <= RESERVED + 256:
            raise ValueError(
                f"tokenizer.vocabulary = {self.vocabulary}: byte-level BPE needs more than "
                f"{RESERVED + 256} ({RESERVED} reserved ids and 256 bytes)"
            )
        if "bpe" not in (self.kind, self.target_kind) and self.split_han:
            raise ValueError(f'tokenizer.split_han is for kind = "bpe"; with "{self.kind}" leave it false')
        if self.kind == "bpe" and self.target_kind in (None, "bpe") and self.minimum_count != 1:
            raise ValueError('tokenizer.minimum_count is for character, word and pieces; with kind = "bpe" leave it 1')
        return self


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text and where it stands there, in characters; `end` is the first one after it."""

    id: int
    text: str
    """As people can read it: a part of a character shows its bytes, `<E6 B0>`."""
    start: int
    end: int


class Tokenizer:
    """One side: text in, ids out, and back. Ids carry neither BOS nor EOS.

    Lone surrogates become U+FFFD. `decode` gives one line whatever the ids: each NUL, carriage return
    and line feed among them comes out as a space.
    """

    def __init__(self, vocabulary: Vocabulary, config: TokenizerConfig) -> None:
        self.vocabulary = vocabulary
        self.config = config

    @classmethod
    def train(cls, config: TokenizerConfig, texts: Iterable[str], *, side: str = "text") -> Self:
        """Learn a vocabulary from lines of text. `side` names the text in messages.

        Raises:
            ConfigError: the text does not support `config.vocabulary` ids and `if_too_large` is `stop`.
        """
        clean = (_normalise(config, text) for text in texts)
        vocabulary: Vocabulary
        if config.kind == "bpe":
            vocabulary = ByteBPE.train(clean, size=config.vocabulary, split_han=config.split_han)
        else:
            vocabulary = PieceVocabulary.train(
                config.kind, clean, size=config.vocabulary, minimum_count=config.minimum_count
            )
        if vocabulary.size < config.vocabulary and config.if_too_large == "stop" and config.kind != "line":
            raise _too_large(config, vocabulary.size, side)
        return cls(vocabulary, config)

    @property
    def size(self) -> int:
        """Number of ids, the reserved ones included: V of the model."""
        return self.vocabulary.size

    @property
    def lossless(self) -> bool:
        """Whether any line of text comes back exactly (lone surrogates, NUL and CR apart)."""
        return self.vocabulary.lossless and not self.config.nfkc

    def encode(self, text: str) -> list[int]:
        return self.vocabulary.encode(self.normalise(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The same as `encode` for each text, on all cores."""
        return self.vocabulary.encode_batch([self.normalise(text) for text in texts])

    def decode(self, ids: Iterable[int], *, show_unknown: bool = False, copies: Sequence[str] | None = None) -> str:
        """The text of ids; reserved ids give nothing, except that `UNK` is shown.

        `UNK` is shown as `⁇`, as `<unk>` with `show_unknown`, or as the next of `copies`, which then holds
        a text for each `UNK`; bytes that form no character are shown as U+FFFD.

        Raises:
            ValueError: an id is outside the vocabulary.
        """
        row = [self._checked(id) for id in ids]
        mark = NAMES[UNK] if show_unknown else UNKNOWN_MARK
        return self.vocabulary.decode(row, repeat(mark) if copies is None else iter(copies))

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of a text with their places in it; all bytes of one character have its place.

        With NFKC a piece has the place of the characters that it was folded from.
        """
        spans = self.vocabulary.spans(self.normalise(text))
        places = _places(safe(text)) if self.config.nfkc else None
        return [
            Piece(
                id,
                self.piece_name(id),
                places[start][0] if places else start,
                places[end - 1][1] if places else end,
            )
            for id, start, end in spans
        ]

    def piece_name(self, id: int) -> str:
        """An id as people can read it, on one line; never to be looked up in text.

        Raises:
            ValueError: the id is outside the vocabulary.
        """
        return NAMES[id] if self._checked(id) < RESERVED else self.vocabulary.name(id)

    def unknown(self, text: str) -> list[str]:
        """The characters or words of a text that the vocabulary lacks, in order, with repeats."""
        clean = self.normalise(text)
        return [clean[start:end] for id, start, end in self.vocabulary.spans(clean) if id == UNK]

    def plain(self, text: str) -> str:
        """A given text as `decode` would write it: ready-made pieces joined, any other text as it is."""
        return join_pieces(text) if self.config.kind == "pieces" else text

    def export(self) -> str:
        """The vocabulary as text for reading: a line for each id, in order, `size` lines in all."""
        return "".join(f"{self.piece_name(id)}\n" for id in range(self.size))

    def normalise(self, text: str) -> str:
        """The text that is really encoded: without lone surrogates, and in NFKC where that is on."""
        return _normalise(self.config, text)

    def changed_by_normalisation(self, text: str) -> list[tuple[str, str]]:
        """What NFKC changes in a text, part by part: (before, after); empty where NFKC is off."""
        if not self.config.nfkc:
            return []
        return [(before, after) for before, after in clusters(safe(text)) if before != after]

    def _checked(self, id: int) -> int:
        if not 0 <= id < self.size:
            raise ValueError(f"id {id} is outside the vocabulary of {self.size} ids")
        return id


def _too_large(config: TokenizerConfig, largest: int, side: str) -> ConfigError:
    usable = largest > (RESERVED + 256 if config.kind == "bpe" else RESERVED)
    smaller = f"set tokenizer.vocabulary to {largest} or less, " if usable else "check that it holds text, "
    return ConfigError(
        f'tokenizer.vocabulary = {config.vocabulary}: with kind = "{config.kind}" the {side} supports at most '
        f"{largest} ids ({RESERVED} of them reserved); {smaller}or give more text, "
        'or set tokenizer.if_too_large = "shrink"'
    )


def _normalise(config: TokenizerConfig, text: str) -> str:
    text = safe(text)
    return nfkc(text) if config.nfkc else text


def _places(text: str) -> list[tuple[int, int]]:
    """For each character of `nfkc(text)`, the characters of the text that it came from: (start, end)."""
    places: list[tuple[int, int]] = []
    start = 0
    for before, after in clusters(text):
        places += [(start, start + len(before))] * len(after)
        start += len(before)
    return places
