"""A word's vector from layer to layer: how alike it is in two sentences, and what it would write at each layer."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transduce.errors import InputError
from transduce.inspection.recorder import forward_of, inputs, only_model
from transduce.inspection.recording import Recording
from transduce.layers.tap import record as listening
from transduce.search.decoding import evaluating
from transduce.translator import Translator

_STAGE = re.compile(r"(?:encoder\.)?(?:embedding|input|output|\d+\.(?:output|hidden))")
_DECODER_LAYER = re.compile(r"decoder\.\d+\.output")

HEURISTIC = (
    "A heuristic: the model was trained to write from its last layer only, so what earlier ones would write shows a "
    "tendency at best."
)
"""What has to stand beside every picture of `logit_lens`."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """How alike a word's two vectors are at one stage of the encoder."""

    place: str
    cosine: float
    """1: the same direction; 0: nothing in common."""


@dataclass(frozen=True, slots=True)
class LensRow:
    """What one layer would write at one step, were it the last."""

    place: str
    position: int
    """Step of the decoder, from 0."""
    pieces: tuple[tuple[str, float], ...]
    """The likeliest pieces and their probabilities, best first."""


def similarities(
    first: Recording, second: Recording, text: str, *, starts: tuple[int, int] | None = None
) -> list[Similarity]:
    """Cosine between the vectors of `text` in two source sentences, at each stage of the encoder they share.

    A text of several tokens has the mean of their vectors. `starts` is where it stands in each sentence, in characters;
    unless given, where it stands first. Raises InputError where it doesn't.
    """
    tokens = [_covering(r, text, at) for r, at in zip((first, second), starts or (None, None), strict=True)]
    found = []
    for place in _stages(first):
        if place in second.tensors and second.axes[place] == first.axes[place]:
            a, b = (
                r.tensors[place][of].astype(np.float64).mean(0) for r, of in zip((first, second), tokens, strict=True)
            )
            length = np.linalg.norm(a) * np.linalg.norm(b)
            found.append(Similarity(place, float(a @ b / length) if length else 0.0))
    return found


def logit_lens(translator: Translator, recording: Recording, *, top: int = 5) -> list[LensRow]:
    """What each decoder layer would write, if its output were taken for the last layer's: see `HEURISTIC`.

    The model itself normalises and projects it. Raises InputError for a model whose decoder layers don't add to one
    stream of vectors, as recurrent ones don't.
    """
    model = only_model(translator)
    places = [name for name in recording.tensors if _DECODER_LAYER.fullmatch(name)]
    if "recurrent" in model.capabilities or len(places) < 2:
        raise InputError(
            "the logit lens needs a decoder of several layers that each add to the vectors of the one before"
        )
    forward, streams, rows = forward_of(model), inputs(recording.streams), []
    for place in places:
        # The earlier layer's output, as it was recorded, in place of the last one's.
        taken = torch.from_numpy(recording.tensors[place])[None].to(next(model.parameters()))
        heard: list[Tensor] = []

        def replace(name: str, value: Tensor, taken: Tensor = taken, heard: list[Tensor] = heard) -> Tensor:
            if name == "logits":
                heard.append(value[0])
            return taken if name == places[-1] else value

        with evaluating(model), torch.inference_mode(), listening(replace):
            forward(streams)
        best = heard[0].float().softmax(-1).topk(min(top, heard[0].shape[-1]), dim=-1)
        rows += [
            LensRow(place, t, tuple((recording.vocabulary[i], p) for i, p in zip(ids, probabilities, strict=True)))
            for t, (ids, probabilities) in enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        ]
    return rows


def _stages(recording: Recording) -> list[str]:
    """Tensors with a vector for each source token: embedding, input, and what each layer hands on."""
    names = [n for n in recording.tensors if _STAGE.fullmatch(n) and recording.axes[n] == ("source", "feature")]
    # A recurrent layer is heard at every position and, below another layer, as a whole: the same numbers.
    return [n for n in names if not (n.endswith(".hidden") and n.replace(".hidden", ".output") in names)]


def _covering(recording: Recording, text: str, start: int | None) -> list[int]:
    """The source tokens that hold a part of `text` where it stands."""
    at = recording.source.find(text) if start is None else start
    if not text or at < 0 or recording.source[at : at + len(text)] != text:
        where = "" if start is None else f" at character {start}"
        raise InputError(f"{text!r} does not stand in {recording.source!r}{where}")
    tokens = recording.streams["source"].tokens
    return [i for i, token in enumerate(tokens) if token.start < at + len(text) and at < token.end]
