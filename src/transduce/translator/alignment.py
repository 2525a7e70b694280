"""Which source piece a target piece came from, as the cross-attention of the real model has it (paper 3.2.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.layers.tap import record
from transduce.models.contract import EncoderDecoder, Model
from transduce.search.decoding import evaluating
from transduce.search.hypothesis import Hypothesis
from transduce.tasks import Task
from transduce.text.pair import Tokenizers
from transduce.text.specials import UNK
from transduce.translator.results import Link


def cross_attention(
    models: Sequence[Model], task: Task[Any], source: Sequence[int], target: Sequence[int]
) -> Float[Tensor, "t s"]:
    """Weight of each source token at the step that wrote each target token: mean over models, layers, heads.

    A summary for linking words, not a picture of the model: heads differ. The columns of the end mark are
    left out, so a row may sum to less than 1. Models without attention have no say; at least one must attend.
    """
    maps: list[Tensor] = []
    with torch.inference_mode():
        for model in cast(Iterator[EncoderDecoder], filter(attends, models)):
            steps: dict[str, list[Tensor]] = {}

            def listen(name: str, value: Tensor, steps: dict[str, list[Tensor]] = steps) -> Tensor:
                if name.endswith(".cross.weights"):
                    steps.setdefault(name, []).append(value[0].float().mean(0))
                return value

            batch = task.batch([source], [target], [0]).to(next(model.parameters()).device)
            with evaluating(model), record(listen):
                model.hidden(batch["previous"].ids, model.encode(batch["source"].ids, batch["source"].lengths))
            # A recurrent decoder attends once for each target token, the others once for all.
            maps += [torch.cat(parts) for parts in steps.values()]
    return torch.stack(maps).mean(0)[: len(target), : len(source)].cpu()


def attends(model: Model) -> bool:
    """Whether the model weighs the source's tokens against one another, so that there is something to link by."""
    return "cross-attention" in model.capabilities


def links(
    weights: Float[Tensor, "t s"], tokenizers: Tokenizers, source_text: str, written: Hypothesis
) -> tuple[Link, ...]:
    """For each target token, the source piece that it attends to most."""
    source = tokenizers.source.pieces(source_text)
    found = []
    start = 0
    for i, row in enumerate(weights):
        # A character whose bytes are spread over several tokens begins where the first of them stands.
        end = len(tokenizers.target.decode(written.ids[: i + 1]).rstrip("\ufffd"))
        j, probability = int(row.argmax()), math.exp(written.token_log_probabilities[i])
        places = source[j].start, source[j].end, min(start, end), end
        found.append(Link(*places, round(float(row[j]), 4), round(probability, 4)))
        start = end
    return tuple(found)


def copies(weights: Float[Tensor, "t s"], tokenizers: Tokenizers, source_text: str, target: Sequence[int]) -> list[str]:
    """For each unknown token of the target, the text of the source piece that it attends to most.

    Known pieces without a letter or a digit are passed over: punctuation attracts attention, but is no word.
    """
    pieces = tokenizers.source.pieces(source_text)
    texts = [source_text[piece.start : piece.end] for piece in pieces]
    is_word = torch.tensor(
        [piece.id == UNK or any(c.isalnum() for c in text) for piece, text in zip(pieces, texts, strict=True)]
    )
    best = (weights.masked_fill(~is_word, -1.0) if is_word.any() else weights).argmax(1)
    return [texts[int(best[i])] for i, id in enumerate(target) if id == UNK]
