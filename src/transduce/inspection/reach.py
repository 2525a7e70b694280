"""Which tokens each state can see, and how much it hangs on them: measured, by taking one embedding away at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transduce.inspection.capture import joined
from transduce.inspection.recorder import forward_of, inputs, only_model
from transduce.inspection.recording import Recording
from transduce.layers.tap import record as listening
from transduce.search.decoding import evaluating
from transduce.translator import Translator

LONGEST = 24
"""Tokens of the longest text that is measured: each takes a pass of the model."""

_EMBEDDING = re.compile(r"(?:encoder\.)?embedding|decoder\.embedding")
_STAGE = re.compile(r"(?:encoder\.|decoder\.|recurrent\.)?(?:output|\d+\.(?:output|hidden))")


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the tokens of a stream have come at one stage."""

    place: str
    stream: str
    influence: Float[np.ndarray, "t s"]
    """‖change of state t‖ / ‖state t‖ where the embedding of token s is 0: exactly 0 outside of what it can see."""


def reaches(translator: Translator, recording: Recording) -> list[Reach]:
    """The receptive field of every state that a model makes of its text, stage by stage.

    The text is the source, or for a language model what it reads. A convolution sees its kernel's width, more with
    each layer; a recurrent layer sees what came before; self-attention sees all at once. Empty for a text of more than
    `LONGEST` tokens.
    """
    model = only_model(translator)
    stream = "source" if "source" in recording.streams else "previous"
    ids = recording.streams[stream].ids()
    embedding = next(
        (n for n in recording.tensors if _EMBEDDING.fullmatch(n) and recording.axes[n] == (stream, "feature")), None
    )
    if embedding is None or len(ids) > LONGEST:
        return []
    forward, streams = forward_of(model), inputs(recording.streams)

    def run(without: int | None) -> dict[str, np.ndarray]:
        heard: dict[str, list[np.ndarray]] = {}

        def listen(name: str, value: Tensor) -> Tensor:
            if name == embedding and without is not None:
                value = value.clone()
                value[:, without] = 0
            if name == embedding or _STAGE.fullmatch(name):
                heard.setdefault(name, []).append(value[0].float().cpu().numpy().copy())
            return value

        with evaluating(model), torch.inference_mode(), listening(listen):
            forward(streams)
        return {name: joined(parts) for name, parts in heard.items()}

    plain = run(None)
    stages = [name for name in _stages(recording, stream) if plain[name].ndim == 2]
    changes = [run(s) for s in range(len(ids))]
    recorded = recording.tensors[embedding]
    # A model that reads its text from the end hears the last token first.
    turned = not np.allclose(plain[embedding], recorded) and np.allclose(plain[embedding][::-1], recorded)
    found = []
    for name in stages:
        lengths = np.linalg.norm(plain[name].astype(np.float64), axis=1)
        apart = np.stack([np.linalg.norm(c[name].astype(np.float64) - plain[name], axis=1) for c in changes], axis=1)
        influence = np.divide(apart, lengths[:, None], out=np.zeros_like(apart), where=lengths[:, None] > 0)
        if turned:
            influence = influence[::-1, ::-1]
        found.append(Reach(name, stream, np.ascontiguousarray(influence)))
    return found


def _stages(recording: Recording, stream: str) -> list[str]:
    """What each layer over the stream hands on; one may have a row more than the stream, as ByteNet's encoder has."""
    side = "decoder." if stream == "previous" else ("encoder." if "previous" in recording.streams else "")
    names = [n for n in recording.tensors if _STAGE.fullmatch(n) and n.startswith(side)]
    return [n for n in names if not (n.endswith(".hidden") and n.replace(".hidden", ".output") in names)]
