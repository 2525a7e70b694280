"""What a position of a tensor stands for in the text."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.unit.inspection.models import demo, table, words_of
from transduce.inspection.tokens import spans_of_ids, spans_of_text, token_table, words
from transduce.text.bpe import ALPHABET, ByteBPE
from transduce.text.specials import BOS, EOS, MASK, RESERVED, UNK
from transduce.text.tokenizer import Tokenizer, TokenizerConfig


def of_bytes() -> Tokenizer:
    """Every byte is a piece."""
    return Tokenizer(ByteBPE([], split_han=False), TokenizerConfig())


def crossing() -> Tokenizer:
    """One piece holds a letter and the first of the three bytes of 水 (E6 B0 B4)."""
    pair = ("a", ALPHABET[0xE6])
    return Tokenizer(ByteBPE([pair], split_han=False), TokenizerConfig())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't  know.", ["I", "don't", "know", "."]),
        ("我爱水课", ["我", "爱", "水", "课"]),
        ("水course 2nd", ["水", "course", "2nd"]),
        ("rock 'n' roll’s", ["rock", "'", "n", "'", "roll’s"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        (" \t\u3000", []),
        ("👍🏽!", ["👍", "🏽", "!"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert [text[a:b] for a, b in words(text)] == expected


def test_all_bytes_of_a_character_cover_it_and_are_one_unit() -> None:
    made = table(of_bytes(), "a水b", first=(BOS,), last=(EOS,))
    assert [(t.piece, t.start, t.end, t.word) for t in made.tokens] == [
        ("<s>", 0, 0, None), ("a", 0, 1, 0), ("<E6>", 1, 2, 1), ("<B0>", 1, 2, 1), ("<B4>", 1, 2, 1), ("b", 2, 3, 2),
        ("</s>", 3, 3, None),
    ]  # fmt: skip
    for by in ("pieces", "characters", "words"):
        units = made.units(by)
        assert [u.label for u in units] == ["<s>", "a", "水", "b", "</s>"]
        assert [u.tokens for u in units] == [(0,), (1,), (2, 3, 4), (5,), (6,)]


def test_pieces_that_share_a_character_are_one_unit() -> None:
    made = table(crossing(), "ba水a")
    assert [(t.start, t.end) for t in made.tokens] == [(0, 1), (1, 3), (2, 3), (2, 3), (3, 4)]
    assert [(u.label, u.tokens) for u in made.units("pieces")] == [("b", (0,)), ("a水", (1, 2, 3)), ("a", (4,))]
    assert [(u.label, u.tokens) for u in made.units("characters")] == [
        ("b", (0,)), ("a", (1,)), ("水", (1, 2, 3)), ("a", (4,))
    ]  # fmt: skip
    # The piece that holds two characters is half of each.
    assert made.membership("characters")[1].tolist() == [0, 0.5, 0.5, 0]


def test_a_pieces_space_belongs_to_no_character_or_word_but_its_own() -> None:
    pieces = demo().tokenizers.source
    made = table(pieces, "I love")
    assert [(t.piece, t.start, t.end) for t in made.tokens] == [("I", 0, 1), (" love", 1, 6)]
    assert [u.label for u in made.units("characters")] == ["I", "l", "o", "v", "e"]
    np.testing.assert_array_equal(made.membership("characters").sum(1), 1.0)
    assert [u.label for u in made.units("words")] == ["I", "love"]
    spaces = table(of_bytes(), "a b")
    assert [(u.label, u.start, u.end) for u in spaces.units("characters")] == [("a", 0, 1), ("␣", 1, 2), ("b", 2, 3)]
    assert [(u.label, u.tokens) for u in spaces.units("words")] == [("a", (0,)), ("␣", (1,)), ("b", (2,))]


def test_ids_have_the_places_that_their_text_has() -> None:
    rng = random.Random(5)
    alphabet = "a b水é🙂'，\u0301"
    for tokenizer in (of_bytes(), crossing(), demo().tokenizers.target):
        for _ in range(211):
            text = "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 13)))
            spelled, spans = spans_of_ids(tokenizer, tokenizer.encode(text))
            assert spelled == text
            assert spans == spans_of_text(tokenizer, text)


def test_ids_that_no_text_has_stay_inside_what_is_shown() -> None:
    rng = random.Random(7)
    tokenizer = of_bytes()
    for _ in range(211):
        ids = [RESERVED + rng.randrange(256) for _ in range(rng.randint(1, 11))]
        text, spans = spans_of_ids(tokenizer, ids)
        assert [id for id, _, _ in spans] == ids
        assert all(0 <= a < b <= len(text) for _, a, b in spans)
        assert spans[0][1] == 0 and spans[-1][2] == len(text)
        token_table(tokenizer, text, spans, [BOS, *ids, EOS]).units("pieces")


def test_words_of_a_word_vocabulary_do_not_cover_the_spaces_between_them() -> None:
    tokenizer = words_of("red blue cat")
    ids = [*tokenizer.encode("red"), UNK, *tokenizer.encode("cat")]
    text, spans = spans_of_ids(tokenizer, ids)
    assert text == "red ⁇ cat"
    assert [text[a:b] for _, a, b in spans] == ["red", "⁇", "cat"]
    # In given text an unknown word is shown as it was written.
    assert [u.label for u in table(tokenizer, "red  dog cat").units("pieces")] == ["red", "dog", "cat"]


def test_a_blank_covers_the_piece_whose_place_it_takes() -> None:
    tokenizer = words_of("red blue cat")
    text = "red blue cat"
    spans = spans_of_text(tokenizer, text)
    ids = [BOS, spans[0][0], MASK, spans[2][0], EOS]
    made = token_table(tokenizer, text, spans, ids)
    assert [(t.piece, text[t.start : t.end]) for t in made.tokens] == [
        ("<s>", ""), ("red", "red"), ("<mask>", "blue"), ("cat", "cat"), ("</s>", "")
    ]  # fmt: skip
