"""Text that is told while it comes: never half a character, and in the end all of it."""

from __future__ import annotations

from transduce.text.tokenizer import Tokenizer, TokenizerConfig
from transduce.translator.generating import Told


def told(tokenizer: Tokenizer, text: str, prompt: int) -> list[str]:
    heard: list[str] = []
    ids = tokenizer.encode(text)
    teller = Told(tokenizer, ids[:prompt], heard.append)
    for id in ids[prompt:-1]:
        teller.add(id)
    teller.all(tuple(ids))
    return heard


def test_a_character_of_several_bytes_is_told_when_its_last_byte_is_there() -> None:
    bpe = Tokenizer.train(TokenizerConfig(vocabulary=278, if_too_large="shrink"), ["ab"])
    assert told(bpe, "a我é", 0) == ["a", "我", "é"]
    assert told(bpe, "ab\N{REPLACEMENT CHARACTER}c", 1) == ["a", "b", "\N{REPLACEMENT CHARACTER}c"]


def test_what_stays_half_a_character_is_told_in_the_end() -> None:
    bpe = Tokenizer.train(TokenizerConfig(vocabulary=278, if_too_large="shrink"), ["ab"])
    heard: list[str] = []
    ids = [*bpe.encode("a"), *bpe.encode("我")[:2]]
    teller = Told(bpe, [], heard.append)
    teller.add(ids[0])
    teller.add(ids[1])
    teller.all(tuple(ids))
    assert heard == ["a", "\N{REPLACEMENT CHARACTER}"]


def test_words_come_with_their_spaces_and_joined_pieces_without() -> None:
    word = Tokenizer.train(TokenizerConfig(kind="word", if_too_large="shrink"), ["one two three"])
    assert told(word, "one two three", 1) == ["one", " two", " three"]
    pieces = Tokenizer.train(TokenizerConfig(kind="pieces", if_too_large="shrink"), ["cour@@ ses are"])
    assert told(pieces, "cour@@ ses are", 0) == ["cour", "ses", " are"]
