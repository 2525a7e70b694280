"""Tokenizer: settings, round trips, places, names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from transduce.errors import ConfigError
from transduce.text.specials import BOS, EOS, NAMES, PAD, RESERVED, UNK
from transduce.text.tokenizer import Tokenizer, TokenizerConfig

TEXTS = ["the lowest 我爱水课", "the lower 我爱喝水", "<s> the low </s> x"] * 3


def trained(**settings: object) -> Tokenizer:
    return Tokenizer.train(TokenizerConfig(if_too_large="shrink", **settings), TEXTS)  # type: ignore[arg-type]


BPE = trained()
HAN = trained(split_han=True)
WORD = trained(kind="word")
CHARACTER = trained(kind="character")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n")))
def test_any_line_round_trips_when_lossless(text: str) -> None:
    for tokenizer in (BPE, HAN):
        ids = tokenizer.encode(text)
        assert tokenizer.lossless
        assert tokenizer.decode(ids) == text
        assert all(id >= RESERVED for id in ids)


@given(st.text(), st.lists(st.integers(0, BPE.size - 1)))
def test_anything_encodes_and_any_ids_decode_to_one_line(text: str, ids: list[int]) -> None:
    for tokenizer in (BPE, WORD, CHARACTER):
        encoded = tokenizer.encode(text)
        assert tokenizer.encode_batch([text]) == [encoded]
        decoded = tokenizer.decode([*encoded, *(id % tokenizer.size for id in ids)])
        assert not set(decoded) & set("\0\r\n")
        decoded.encode("utf-8")


@pytest.mark.parametrize("tokenizer", [BPE, HAN, WORD, CHARACTER], ids=["bpe", "han", "word", "character"])
def test_special_ids_come_from_no_text(tokenizer: Tokenizer) -> None:
    for text in (*NAMES, " ".join(NAMES), "".join(NAMES)):
        assert all(id >= RESERVED or id == UNK for id in tokenizer.encode(text))


def test_decode_skips_specials_inside_a_character() -> None:
    first, second, third = (RESERVED + byte for byte in "水".encode())
    assert BPE.decode([BOS, first, PAD, second, 7, third, EOS]) == "水"


def test_unknown_is_a_mark_or_the_name() -> None:
    ids = WORD.encode("the Zyxel low")
    assert ids[1] == UNK
    assert WORD.decode(ids) == "the ⁇ low"
    assert WORD.decode(ids, show_unknown=True) == "the <unk> low"
    assert WORD.unknown("the Zyxel low Zyxel") == ["Zyxel", "Zyxel"]
    assert CHARACTER.unknown("thQ") == ["Q"]
    assert BPE.unknown("Zyxel 𠮷") == []


def test_ids_outside_the_vocabulary_are_refused() -> None:
    for id in (-1, BPE.size):
        with pytest.raises(ValueError, match="outside the vocabulary"):
            BPE.decode([id])
        with pytest.raises(ValueError, match="outside the vocabulary"):
            BPE.piece_name(id)


def test_pieces_have_places() -> None:
    pieces = HAN.pieces("水𠮷 the")
    assert [(piece.text, piece.start, piece.end) for piece in pieces] == [
        ("水", 0, 1),
        ("<F0>", 1, 2),
        ("<A0>", 1, 2),
        ("<AE>", 1, 2),
        ("<B7>", 1, 2),
        (" the", 2, 6),
    ]
    assert [piece.id for piece in pieces] == HAN.encode("水𠮷 the")
    assert [(piece.text, piece.start, piece.end) for piece in WORD.pieces(" the Zyxel")] == [
        ("the", 1, 4),
        ("<unk>", 5, 10),
    ]


def test_pieces_of_normalised_text_have_places_in_the_original() -> None:
    tokenizer = trained(kind="character", nfkc=True)
    found = [(piece.text, piece.start, piece.end) for piece in tokenizer.pieces("ｔ\u2048e")]
    assert found == [("t", 0, 1), ("<unk>", 1, 2), ("<unk>", 1, 2), ("e", 2, 3)]


def test_names() -> None:
    assert [BPE.piece_name(id) for id in range(RESERVED)] == list(NAMES)
    assert BPE.piece_name(RESERVED + 0x0A) == "<U+000A>"
    assert BPE.piece_name(RESERVED + 0xE5) == "<E5>"
    assert WORD.piece_name(RESERVED) == "the"


@pytest.mark.parametrize("tokenizer", [BPE, HAN, WORD, CHARACTER], ids=["bpe", "han", "word", "character"])
def test_export_has_a_line_for_each_id(tokenizer: Tokenizer) -> None:
    text = tokenizer.export()
    assert text.count("\n") == tokenizer.size
    assert text.splitlines() == [tokenizer.piece_name(id) for id in range(tokenizer.size)]


@pytest.mark.parametrize("kind", ["bpe", "word", "character", "pieces"])
def test_a_vocabulary_larger_than_the_text_stops_and_names_the_largest(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.vocabulary = 900") as caught:
        Tokenizer.train(TokenizerConfig(kind=kind, vocabulary=900), TEXTS)  # type: ignore[arg-type]
    largest = int(str(caught.value).split("at most ")[1].split()[0])
    reached = Tokenizer.train(TokenizerConfig(kind=kind, vocabulary=largest), TEXTS)  # type: ignore[arg-type]
    assert reached.size == largest
    shrunk = Tokenizer.train(
        TokenizerConfig(kind=kind, vocabulary=900, if_too_large="shrink"),  # type: ignore[arg-type]
        TEXTS,
    )
    assert shrunk.size == largest
    with pytest.raises(ConfigError):
        Tokenizer.train(TokenizerConfig(kind=kind, vocabulary=largest + 1), TEXTS)  # type: ignore[arg-type]


def test_a_size_that_the_text_supports_is_met_exactly() -> None:
    assert Tokenizer.train(TokenizerConfig(vocabulary=RESERVED + 256 + 5), TEXTS).size == RESERVED + 261


@pytest.mark.parametrize("kind", ["bpe", "word"])
def test_no_text_at_all_gives_usable_advice(kind: str) -> None:
    with pytest.raises(ConfigError, match="check that it holds text"):
        Tokenizer.train(TokenizerConfig(kind=kind), [])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings",
    [
        {"vocabulary": RESERVED + 256},
        {"kind": "word", "vocabulary": RESERVED},
        {"vocabulary": 10**7},
        {"kind": "word", "split_han": True},
        {"minimum_count": 2},
        {"kind": "word", "minimum_count": 0},
        {"kind": "syllable"},
        {"target_kind": "line"},
        {"kind": "word", "target_kind": "bpe", "joint": False, "vocabulary": RESERVED + 256},
        {"kind": "word", "target_kind": "line", "joint": False, "split_han": True},
        {"vocabulry": 5000},
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TokenizerConfig(**settings)  # type: ignore[arg-type]


def test_smallest_settings_are_accepted() -> None:
    assert TokenizerConfig(vocabulary=RESERVED + 257).kind == "bpe"
    assert TokenizerConfig(kind="word", vocabulary=RESERVED + 1, minimum_count=2).minimum_count == 2


def test_a_line_is_one_piece_without_the_white_space_around_it() -> None:
    labels = ["in steps of 2", " in steps of 2\t", "水课", "", "a\tb"]
    line = Tokenizer.train(TokenizerConfig(kind="line"), labels)
    assert line.size == RESERVED + 3
    assert [line.decode(line.encode(label)) for label in labels] == [
        "in steps of 2",
        "in steps of 2",
        "水课",
        "",
        "a\tb",
    ]
    assert [len(line.encode(label)) for label in labels] == [1, 1, 1, 0, 1]
    assert line.encode("in steps of 3") == [UNK]
    assert [(piece.start, piece.end) for piece in line.pieces(" in steps of 2\t")] == [(1, 14)]


def test_each_side_has_its_own_kind() -> None:
    config = TokenizerConfig(joint=False, target_kind="line", split_han=True)
    assert [config.of(side).kind for side in ("source", "target")] == ["bpe", "line"]
    assert TokenizerConfig(kind="word").of("joint").kind == "word"
