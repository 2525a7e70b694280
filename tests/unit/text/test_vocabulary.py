"""Vocabularies that are lists of pieces."""

from __future__ import annotations

from itertools import repeat

import pytest

from transduce.text.specials import BOS, EOS, PAD, RESERVED, UNK
from transduce.text.tokenizer import Tokenizer, TokenizerConfig
from transduce.text.vocabulary import FULL_STOP_ID, LONGEST_PIECE, PieceVocabulary, one_line, readable


def test_order_is_by_count_then_code_point() -> None:
    vocabulary = PieceVocabulary.train("word", ["b a c", "c"], size=100, minimum_count=1)
    assert vocabulary.content() == ["c", "a", "b"]
    assert vocabulary.encode("a b c d") == [RESERVED + 1, RESERVED + 2, RESERVED, UNK]


def test_size_and_minimum_count() -> None:
    texts = ["c c c b b a"]
    assert PieceVocabulary.train("word", texts, size=RESERVED + 2, minimum_count=1).content() == ["c", "b"]
    assert PieceVocabulary.train("word", texts, size=100, minimum_count=3).content() == ["c"]


def test_the_full_stop_comes_first_where_sentences_end_with_it() -> None:
    for texts, words in ((["b b . c", "b"], ["b", "c"]), (["b"], ["b"])):
        vocabulary = PieceVocabulary.train("sentences", texts, size=100, minimum_count=1)
        assert vocabulary.content() == [".", *words]
        assert vocabulary.encode("b . b. d") == [RESERVED + 1, FULL_STOP_ID, UNK, UNK]


def test_words_are_split_at_spaces_and_tabs_only() -> None:
    vocabulary = PieceVocabulary.train("word", ["10\u00a0km\u2028x \t y"], size=100, minimum_count=1)
    assert vocabulary.content() == ["10\u00a0km\u2028x", "y"]
    assert vocabulary.spans("  y y") == [(RESERVED + 1, 2, 3), (RESERVED + 1, 4, 5)]


def test_ready_made_pieces_are_joined() -> None:
    line = "the low@@ er@@ est u@@ ser@@"
    vocabulary = PieceVocabulary.train("pieces", [line], size=100, minimum_count=1)
    ids = vocabulary.encode(line)
    assert len(ids) == 6
    assert vocabulary.decode(ids, repeat("⁇")) == "the lowerest user"
    assert vocabulary.decode([*ids[:2], UNK], repeat("⁇")) == "the low⁇"


def test_characters_keep_spaces() -> None:
    vocabulary = PieceVocabulary.train("character", ["a  b"], size=100, minimum_count=1)
    assert vocabulary.content() == [" ", "a", "b"]
    assert vocabulary.decode(vocabulary.encode(" b a c"), repeat("⁇")) == " b a ⁇"


def test_specials_are_skipped_and_unknown_is_marked() -> None:
    vocabulary = PieceVocabulary.train("word", ["a b"], size=100, minimum_count=1)
    ids = [BOS, RESERVED, UNK, PAD, 9, RESERVED + 1, EOS]
    assert vocabulary.decode(ids, repeat("⁇")) == "a ⁇ b"


@pytest.mark.parametrize("kind", ["word", "pieces", "character"])
def test_forbidden_characters_enter_no_piece(kind: str) -> None:
    vocabulary = PieceVocabulary.train(kind, ["a\0b\r", "c\ufeffd\n"], size=100, minimum_count=1)  # type: ignore[arg-type]
    assert vocabulary.content() == ["a", "b", "c", "d"]


def test_overlong_words_are_unknown() -> None:
    texts = ["x" * LONGEST_PIECE + " " + "y" * (LONGEST_PIECE + 1)]
    vocabulary = PieceVocabulary.train("word", texts, size=100, minimum_count=1)
    assert vocabulary.content() == ["x" * LONGEST_PIECE]


def test_readable_and_one_line() -> None:
    assert readable("水 a") == "水 a"
    assert readable("a\u200cb\u2028\n") == "a<U+200C>b<U+2028><U+000A>"
    assert one_line("a\0b\rc\nd") == "a b c d"


def test_given_pieces_are_joined_as_decoding_joins_them() -> None:
    config = TokenizerConfig(kind="pieces", vocabulary=100, if_too_large="shrink")
    tokenizer = Tokenizer.train(config, ["low@@ er new@@ est"])
    text = "low@@ er @ new@@ est low@@"
    assert (
        tokenizer.plain("low@@ er new@@ est")
        == tokenizer.decode(tokenizer.encode("low@@ er new@@ est"))
        == "lower newest"
    )
    assert tokenizer.plain(text) == "lower @ newest low"
    words = Tokenizer.train(TokenizerConfig(kind="word", vocabulary=100, if_too_large="shrink"), [text])
    assert words.plain(text) == text
