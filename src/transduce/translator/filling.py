"""What an encoder makes of text: words at blanks, and a vector for a whole text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float

from transduce.data.batch import Stream
from transduce.errors import ConfigError, InputError
from transduce.models.contract import Encoder, Pooling
from transduce.search.decoding import evaluating
from transduce.search.ensemble import LabellerEnsemble
from transduce.tasks import Mask
from transduce.tasks.task import by_length
from transduce.text.lines import safe
from transduce.text.specials import BOS, EOS, MASK
from transduce.text.tokenizer import Tokenizer
from transduce.text.vocabulary import one_line
from transduce.translator.translator import Translator

BLANK = "[MASK]"
"""How a blank is typed. Only here: anywhere else it is text."""
BATCH_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Choice:
    """A token that may stand at a blank."""

    token: str
    """As people read it; the space before a word belongs to it."""
    probability: float
    text: str
    """The whole text with it, and with the likeliest token at each other blank."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A text and what may stand at its blanks."""

    source: str
    text: str
    """With the likeliest token at each blank."""
    blanks: tuple[tuple[Choice, ...], ...]
    """For each blank in order, the likeliest tokens, best first."""


def fill(translator: Translator, texts: Sequence[str], *, top_k: int = 5, first: int = 0) -> list[Filled]:
    """For each blank, typed [MASK], of each text of one line, the `top_k` likeliest tokens. A blank is one token.

    The blanks of a text are told each by itself. `first` is the number of the first text in a longer stream. Raises
    ConfigError for a run of another task, InputError for a text without a blank.
    """
    translator.refuse_another("fill")
    if isinstance(texts, str):
        raise InputError("fill takes a list of texts, not one text: write fill(translator, [text])")
    if top_k < 1:
        raise ConfigError(f"top_k = {top_k}: expected at least 1")
    tokenizer, config = translator.tokenizers.target, translator.decoding()
    rows = [encode_with_blanks(tokenizer, text) for text in texts]
    for number, row in enumerate(rows, start=first + 1):
        if MASK not in row:
            raise InputError(f"text {number} has no blank: put {BLANK} where a word is missing")
    translator.refuse_long(rows, range(len(rows)), first, config)
    with translator.compute.autocast():
        model = cast(Encoder | LabellerEnsemble, translator.model)
        found = cast(Mask, translator.task).candidates(model, rows, top_k, config, device=translator.compute.device)
    results = []
    for text, row, blanks in zip(texts, rows, found, strict=True):
        best = list(row)
        for blank in blanks:
            best[blank.place] = blank.ids[0]

        def choice(place: int, id: int, log_probability: float, best: list[int] = best) -> Choice:
            with_it = [*best[:place], id, *best[place + 1 :]]
            return Choice(tokenizer.piece_name(id), math.exp(log_probability), tokenizer.decode(with_it))

        each = (zip(b.ids, b.log_probabilities, strict=True) for b in blanks)
        choices = (tuple(choice(b.place, *pair) for pair in pairs) for b, pairs in zip(blanks, each, strict=True))
        results.append(Filled(text, tokenizer.decode(best), tuple(choices)))
    return results


def vectors(
    translator: Translator, texts: Sequence[str], *, pooling: Pooling = "mean", first: int = 0
) -> Float[np.ndarray, "n d"]:
    """A vector for each text, of a run whose model is an encoder: what it makes of start mark, tokens and end mark,
    as their mean or at the start mark (pooling first). Not normalised; what shares a batch doesn't matter. Messages
    number the texts from `first` + 1.

    Raises ConfigError for a model that is no encoder, and for several.
    """
    if len(translator.models) > 1 or "encoder" not in translator.models[0].capabilities:
        raise ConfigError("vectors are made by one run whose model is an encoder, such as bert")
    model = cast(Encoder, translator.models[0])
    rows = translator.tokenizers.source.encode_batch([one_line(safe(text)).strip() for text in texts])
    translator.refuse_long(rows, range(len(rows)), first, translator.decoding())
    marked = [[BOS, *row, EOS] for row in rows]
    found = np.zeros((len(rows), model.d_model), np.float32)
    with evaluating(model), torch.inference_mode(), translator.compute.autocast():
        for chunk in by_length(marked, lambda longest: BATCH_TOKENS // longest):
            stream = Stream.pad([marked[i] for i in chunk]).to(translator.compute.device)
            found[chunk] = model.pool(stream.ids, stream.lengths, pooling).float().cpu().numpy()
    return found


def encode_with_blanks(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text with blanks. Byte-level BPE has the space before a word in the word's own token, so there the
    space before a blank is the blank's."""
    parts = one_line(safe(text)).strip().split(BLANK)
    if tokenizer.config.kind == "bpe":
        parts = [*(part.removesuffix(" ") for part in parts[:-1]), parts[-1]]
    ids = tokenizer.encode(parts[0])
    for part in parts[1:]:
        ids += [MASK, *tokenizer.encode(part)]
    return ids
