"""Word vectors from a file: whose row they become, and what is no such file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from transduce.errors import DataError
from transduce.text.pair import Tokenizers
from transduce.text.specials import RESERVED, UNK
from transduce.text.tokenizer import Tokenizer, TokenizerConfig
from transduce.text.word_vectors import load_word_vectors


@pytest.fixture
def tokenizer() -> Tokenizer:
    config = TokenizerConfig(kind="word", vocabulary=50, if_too_large="shrink")
    return Tokenizers.train(config, lambda: [("red blue", "red")]).source


def test_an_unknown_word_is_no_piece(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "v").write_text("green 3 5\nred 2 4\nwhite 7 7\n", encoding="utf-8")
    weight = torch.zeros(tokenizer.size, 2)
    assert load_word_vectors(tmp_path / "v", tokenizer, weight, 2.0) == 2  # with and without a space before it
    assert weight[tokenizer.encode("red")[0]].tolist() == [1, 2]
    assert weight[UNK].tolist() == [0, 0]
    assert int(weight[RESERVED:].count_nonzero()) == 2


def test_a_file_without_a_known_word_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "v").write_text("green 3 5\nwhite 7 7\n", encoding="utf-8")
    with pytest.raises(DataError, match="no word of this file is a piece of the vocabulary"):
        load_word_vectors(tmp_path / "v", tokenizer, torch.zeros(tokenizer.size, 2), 2.0)
