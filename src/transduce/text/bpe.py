"""Byte pair encoding over bytes (Sennrich et al. 2016, over the 256 bytes as in GPT-2).

Training and segmentation are the Hugging Face `tokenizers` library's. It gets no special or added
tokens, so that everything typed is text; ids, decoding and storage are ours, so that they stay the
same whatever version of the library is installed.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from transduce.text.specials import RESERVED, UNK
from transduce.text.vocabulary import FORBIDDEN, Vocabulary, one_line, readable

LONGEST_CHUNK = 64
"""Characters of a word (its leading space apart) within which merges happen. Longer runs are cut, as
learning from one word of 100,000 letters would take a minute."""

LEAST_PAIRS = 2
"""Occurrences below which a pair is not merged: one seen once says nothing about the language."""

LEARNED_BYTES = 12 * 2**20
"""Length of all distinct words that may be learned from: the library takes about 110 times as much memory."""

_BYTES = range(256)
_VISIBLE = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
_HIDDEN = [byte for byte in _BYTES if byte not in _VISIBLE]
ALPHABET = tuple(chr(byte if byte in _VISIBLE else 0x100 + _HIDDEN.index(byte)) for byte in _BYTES)
"""The library's printable stand-in for each byte: the space is `Ġ`. Byte b has id RESERVED + b."""

_BYTE_OF = {symbol: byte for byte, symbol in enumerate(ALPHABET)}


class ByteBPE(Vocabulary):
    """The 256 bytes and, after them, what each merge makes of two earlier pieces."""

    lossless = True

    def __init__(self, merges: Sequence[tuple[str, str]], *, split_han: bool) -> None:
        ids = {symbol: RESERVED + byte for byte, symbol in enumerate(ALPHABET)}
        for left, right in merges:
            # Two merges can spell one piece (a+bc, ab+c): it keeps its first id.
            ids.setdefault(left + right, RESERVED + len(ids))
        self.size = RESERVED + len(ids)
        self._merges = tuple(merges)
        self._bytes = [b""] * RESERVED + [piece_bytes(piece) for piece in ids]
        self._library = Tokenizer(models.BPE(vocab=ids, merges=list(merges)))
        self._library.pre_tokenizer = _pre_tokenizer(split_han)

    @classmethod
    def train(cls, texts: Iterable[str], *, size: int, split_han: bool) -> ByteBPE:
        """Learn merges until there are `size` ids or no pair occurs often enough."""
        library = Tokenizer(models.BPE())
        library.pre_tokenizer = _pre_tokenizer(split_han)
        trainer = trainers.BpeTrainer(
            vocab_size=size - RESERVED,
            min_frequency=LEAST_PAIRS,
            initial_alphabet=list(ALPHABET),
            special_tokens=[],
            show_progress=False,
        )
        parts = (part for text in texts for part in FORBIDDEN.split(text) if part)
        library.train_from_iterator(parts, trainer)
        merges = json.loads(library.to_str())["model"]["merges"]
        return cls([(left, right) for left, right in merges], split_han=split_han)

    @staticmethod
    def capacity(texts: Sequence[str], *, split_han: bool) -> float:
        """About how many texts like these have `LEARNED_BYTES` of distinct words; more rather than fewer words are
        expected, as those that a text brings become fewer."""
        cut = _pre_tokenizer(split_han)
        halves = texts[::2], texts[1::2]
        known, words = ({word for text in half for word, _ in cut.pre_tokenize_str(text)} for half in halves)
        return LEARNED_BYTES * len(halves[1]) / max(1, sum(map(len, words - known)))

    def encode(self, text: str) -> list[int]:
        return list(self._library.encode(text, add_special_tokens=False).ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [row.ids for row in self._library.encode_batch_fast(list(texts), add_special_tokens=False)]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        ids = self.encode(text)
        # Byte offset of each character's first byte; pieces are exactly the bytes of the text.
        starts = list(accumulate((len(c.encode("utf-8")) for c in text), initial=0))[:-1]
        ends = list(accumulate(len(self._bytes[id]) for id in ids))
        spans = []
        begin = 0
        for id, end in zip(ids, ends, strict=True):
            spans.append((id, bisect_right(starts, begin) - 1, bisect_right(starts, end - 1)))
            begin = end
        return spans

    def decode(self, ids: Sequence[int], unknown: Iterator[str]) -> str:
        joined = b"".join(next(unknown).encode("utf-8") if id == UNK else self._bytes[id] for id in ids)
        return one_line(joined.decode("utf-8", errors="replace"))

    def name(self, id: int) -> str:
        piece = self._bytes[id]
        try:
            return readable(piece.decode("utf-8"))
        except UnicodeDecodeError:
            return f"<{piece.hex(' ').upper()}>"

    def content(self) -> list[str]:
        return [f"{left} {right}" for left, right in self._merges]


def piece_bytes(piece: str) -> bytes:
    """The bytes that a piece in the library's alphabet stands for."""
    return bytes(_BYTE_OF[symbol] for symbol in piece)


def _pre_tokenizer(split_han: bool) -> pre_tokenizers.PreTokenizer:
    """Words with their leading space, runs of digits, of other signs and of white space: never merged across.

    Like GPT-2's rule, but marks stay with their letters (Indic and Arabic words are not cut at each
    vowel sign) and no run is longer than `LONGEST_CHUNK`. With `split_han`, each Han character is alone.
    """
    letter = r"[\p{L}\p{M}&&[^\p{Han}]]" if split_han else r"[\p{L}\p{M}]"
    other = r"[^\s\p{L}\p{M}\p{N}\p{Han}]" if split_han else r"[^\s\p{L}\p{M}\p{N}]"
    run = f"{{1,{LONGEST_CHUNK}}}"
    pattern = "|".join(
        [
            *([r"\p{Han}"] if split_han else []),
            r"'(?:[sdmt]|ll|ve|re)(?![\p{L}\p{M}])",
            f" ?{letter}{run}",
            rf" ?\p{{N}}{run}",
            f" ?{other}{run}",
            rf"\s{run}(?!\S)",
            rf"\s{run}",
        ]
    )
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
