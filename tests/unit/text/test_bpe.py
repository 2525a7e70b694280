"""Byte-level BPE: the alphabet, the numbering, the chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel

from transduce.text import bpe
from transduce.text.bpe import ALPHABET, LONGEST_CHUNK, ByteBPE
from transduce.text.specials import RESERVED

TRAINED = ByteBPE.train(["low lower lowest 我爱水课"] * 3, size=RESERVED + 256 + 23, split_han=False)


def test_alphabet_is_the_librarys() -> None:
    assert len(set(ALPHABET)) == 256
    assert set(ALPHABET) == set(ByteLevel.alphabet())


def test_byte_b_has_id_reserved_plus_b() -> None:
    bare = ByteBPE([], split_han=False)
    assert bare.size == RESERVED + 256
    assert bare.encode("aé\0") == [RESERVED + b for b in (0x61, 0xC3, 0xA9, 0)]


def test_merges_by_hand() -> None:
    bpe = ByteBPE([("l", "o"), ("lo", "w"), ("Ġ", "low")], split_han=False)
    assert bpe.encode("low low") == [RESERVED + 257, RESERVED + 258]
    assert [bpe.name(RESERVED + 256 + i) for i in range(3)] == ["lo", "low", " low"]


def test_two_merges_of_one_piece_share_its_id() -> None:
    bpe = ByteBPE([("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc")], split_han=False)
    assert bpe.size == RESERVED + 256 + 3


def test_most_frequent_pair_is_merged_first() -> None:
    bpe = ByteBPE.train(["xyxyxy", "xy zz"], size=RESERVED + 257, split_han=False)
    assert bpe.content() == ["x y"]


def test_a_pair_seen_once_is_not_merged() -> None:
    assert ByteBPE.train(["ab"], size=400, split_han=False).content() == []
    assert ByteBPE.train(["ab", "ab"], size=400, split_han=False).content() == ["a b"]


def test_no_merge_crosses_the_longest_chunk() -> None:
    bpe = ByteBPE.train(["a" * 1000], size=1000, split_han=False)
    longest = max(len(bpe.name(id)) for id in range(RESERVED + 256, bpe.size))
    assert longest == LONGEST_CHUNK
    assert len(bpe.encode("a" * LONGEST_CHUNK * 7)) == 7


def test_vowel_signs_stay_with_their_letters() -> None:
    bpe = ByteBPE.train(["नमस्ते"] * 2, size=1000, split_han=False)
    assert len(bpe.encode("नमस्ते")) == 1


def test_apostrophe_before_a_whole_word_is_no_english_ending() -> None:
    bpe = ByteBPE.train(["d'maison don't"] * 2, size=1000, split_han=False)
    assert [bpe.name(id) for id in bpe.encode("d'maison don't")] == ["d", "'", "maison", " don", "'t"]


def test_split_han_keeps_each_character_apart() -> None:
    texts = ["我爱水课", "我爱水课 abc"] * 5
    apart = ByteBPE.train(texts, size=1000, split_han=True)
    together = ByteBPE.train(texts, size=1000, split_han=False)
    assert [apart.name(id) for id in apart.encode("我爱水课")] == ["我", "爱", "水", "课"]
    assert len(together.encode("我爱水课")) == 1


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_batch_equals_single_and_spans_cover_the_text(text: str) -> None:
    ids = TRAINED.encode(text)
    assert TRAINED.encode_batch([text, text]) == [ids, ids]
    spans = TRAINED.spans(text)
    assert [id for id, _, _ in spans] == ids
    covered = {i for _, start, end in spans for i in range(start, end)}
    assert covered == set(range(len(text)))
    assert all(start < end for _, start, end in spans)
    assert spans == sorted(spans, key=lambda span: span[1:])


def test_how_much_can_be_learned_from_is_judged_by_words_not_seen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each second text brings ` é` and a digit, of 3 + 1 bytes; all of them together may have 100."""
    monkeypatch.setattr(bpe, "LEARNED_BYTES", 100)
    texts = [text for digit in "123" for text in ("a b", f"a é{digit}")]
    assert ByteBPE.capacity(texts, split_han=False) == 100 * 3 / (3 + 3)
    assert ByteBPE.capacity(["a b"] * 7, split_han=False) == 100 * 3, "nothing new is taken for one byte"
