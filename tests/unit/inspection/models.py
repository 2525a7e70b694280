"""Translators whose weights are random, for any model; and a recording small enough to check by hand."""

from __future__ import annotations

from functools import cache

import numpy as np

from tests.contracts.variations import VARIATIONS, Variation
from transduce.demo.shipped import RUN
from transduce.devices import ComputeConfig, resolve
from transduce.experiment import Experiment
from transduce.inspection import Recording
from transduce.inspection.recording import FORMAT
from transduce.inspection.tokens import TokenTable, token_table
from transduce.run_folder import RunFolder
from transduce.text.specials import BOS, EOS
from transduce.text.tokenizer import Tokenizer, TokenizerConfig
from transduce.translator import Translator

COMPUTE = resolve(ComputeConfig(device="cpu", threads=1))


@cache
def _demo() -> RunFolder:
    return RunFolder.open(RUN)


def translator_of(variation: Variation, *, max_extra: int = 2) -> Translator:
    """A variation with the demo's tokenizer."""
    tokenizers = _demo().tokenizers
    model = variation.build(tokenizers.source.size, tokenizers.target.size)
    settings = _demo().experiment.model_dump() | {"model": variation.config.model_dump(), "task": None}
    settings["data"]["filters"]["max_length"] = 17
    settings["validation"]["probes"] = []
    searched = model.capabilities & {"encoder-decoder", "language-model"}
    # Random weights seldom end a sentence.
    settings["decoding"] = {"max_extra": max_extra} if searched else {}
    return Translator([model], tokenizers, Experiment.model_validate(settings), COMPUTE)


def demo() -> Translator:
    """The run that ships: a real model that was trained."""
    return Translator([_demo().model("auto").eval()], _demo().tokenizers, _demo().experiment, COMPUTE)


def named(name: str) -> Variation:
    return next(v for v in VARIATIONS if v.name == name)


def words_of(*texts: str) -> Tokenizer:
    return Tokenizer.train(TokenizerConfig(kind="word", if_too_large="shrink"), texts)


def table(tokenizer: Tokenizer, text: str, *, first: tuple[int, ...] = (), last: tuple[int, ...] = ()) -> TokenTable:
    spans = [(piece.id, piece.start, piece.end) for piece in tokenizer.pieces(text)]
    return token_table(tokenizer, text, spans, [*first, *(id for id, _, _ in spans), *last])


def by_hand(cross: list[list[list[float]]], source: str, target: str, tokenizer: Tokenizer) -> Recording:
    """A recording of one place with cross-attention `cross` [h t s], the texts cut by `tokenizer`."""
    weights = np.array(cross, np.float32)
    places = ("head", "previous", "source")
    return Recording(
        format=FORMAT, model="by-hand", capabilities=("cross-attention",), source_language="x", target_language="y",
        streams={
            "source": table(tokenizer, source, last=(EOS,)),
            "previous": table(tokenizer, target, first=(BOS,)),
            "expected": table(tokenizer, target, last=(EOS,)),
        },
        folded=(), vocabulary=tuple(tokenizer.piece_name(id) for id in range(tokenizer.size)),
        axes={"decoder.0.cross.weights": places, "logits": ("previous", "vocabulary")}, tree=None,
        tensors={
            "decoder.0.cross.weights": weights,
            "logits": np.eye(weights.shape[1], tokenizer.size, dtype=np.float32),
        },
    )  # fmt: skip
