"""Where a typed blank stands, with the space before it and without."""

from __future__ import annotations

import pytest

from transduce.text.specials import MASK
from transduce.text.tokenizer import Tokenizer, TokenizerConfig
from transduce.translator.filling import encode_with_blanks

TEXTS = ["I love easy courses", "我爱水课", "I love water"] * 3


def tokenizer(kind: str) -> Tokenizer:
    sizes = {"vocabulary": 320 if kind == "bpe" else 99, "if_too_large": "shrink"}
    return Tokenizer.train(TokenizerConfig(kind=kind, **sizes), TEXTS)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["bpe", "word", "character"])
def test_blanks_stand_between_the_pieces_of_the_text(kind: str) -> None:
    t = tokenizer(kind)
    assert encode_with_blanks(t, "[MASK]") == [MASK]
    assert encode_with_blanks(t, "我爱[MASK]课") == [*t.encode("我爱"), MASK, *t.encode("课")]
    assert encode_with_blanks(t, "[MASK][MASK] 我") == [MASK, MASK, *t.encode(" 我")]
    assert encode_with_blanks(t, "  我[MASK]\n") == [*t.encode("我"), MASK]


def test_the_space_before_a_word_is_the_blanks_where_it_is_in_the_words_token() -> None:
    bpe, character = tokenizer("bpe"), tokenizer("character")
    ids = encode_with_blanks(bpe, "I love [MASK] courses")
    assert ids == [*bpe.encode("I love"), MASK, *bpe.encode(" courses")]
    whole = bpe.encode("I love easy courses")
    # The blank stands for exactly what the word's own tokens would be.
    assert whole[: ids.index(MASK)] == ids[: ids.index(MASK)]
    assert whole[-len(bpe.encode(" courses")) :] == ids[ids.index(MASK) + 1 :]
    assert encode_with_blanks(character, "I [MASK]") == [*character.encode("I "), MASK]


def test_only_a_typed_blank_is_one() -> None:
    assert MASK not in encode_with_blanks(tokenizer("bpe"), "<mask> [mask] [MASK ]")
