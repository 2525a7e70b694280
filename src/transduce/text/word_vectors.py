"""Word vectors trained elsewhere, in word2vec's text format: an embedding's first values (article 1.2)."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from transduce.errors import DataError
from transduce.text.lines import read_lines
from transduce.text.specials import UNK
from transduce.text.tokenizer import Tokenizer


@torch.no_grad()
def load_word_vectors(path: Path, tokenizer: Tokenizer, weight: Tensor, scale: float) -> int:
    """Fill the rows of `weight` [V d] whose piece the file has a vector for. Returns how many.

    Each line is a word and d numbers, after a first line with their counts. A word belongs to the piece
    that it is encoded as where that is a single one, with or without a space before it. `scale` is what
    the embedding multiplies by: vectors are divided by it, so that the model sees them as they are.
    """
    count = 0
    for number, line in enumerate(read_lines(path), start=1):
        word, *values = line.rstrip(" ").split(" ")
        if number == 1 and len(values) == 1:
            continue
        if len(values) != weight.shape[1]:
            raise DataError(
                f"{len(values)} numbers after the word; model.d_model = {weight.shape[1]} asks for as many",
                path=path,
                line=number,
            )
        for text in (word, f" {word}"):
            ids = tokenizer.encode(text)
            if len(ids) == 1 and ids[0] != UNK:
                weight[ids[0]] = _vector(values, path, number) / scale
                count += 1
    if count == 0:
        raise DataError("no word of this file is a piece of the vocabulary; expected word2vec text format", path=path)
    return count


def _vector(values: list[str], path: Path, number: int) -> Tensor:
    try:
        vector = torch.tensor([float(value) for value in values])
    except ValueError as error:
        raise DataError(f"not a number: {error}", path=path, line=number) from None
    if not torch.isfinite(vector).all():
        raise DataError("a vector that is not finite", path=path, line=number)
    return vector
