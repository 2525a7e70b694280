"""What the model thought of at each step: probabilities over its whole vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transduce.inspection.recording import Recording


@dataclass(frozen=True, slots=True)
class Guess:
    """A piece that could have been written."""

    id: int
    piece: str
    probability: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """One step of the decoder: it has read `reads` and writes `writes`."""

    position: int
    """From 0."""
    reads: str
    writes: str
    log_probability: float
    """Of what is written, in nats."""
    rank: int
    """Its place among all pieces, from 1."""
    entropy: float
    """Of the whole distribution, in nats: 0 = certain."""
    best: tuple[Guess, ...]
    """The likeliest pieces, best first; of equals, the lower id first."""


def log_probabilities(recording: Recording) -> Float[np.ndarray, "t v"]:
    """log softmax of the recorded logits, in float64."""
    logits = np.atleast_2d(recording.tensors["logits"].astype(np.float64))
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def predictions(recording: Recording, *, top: int = 10) -> list[Prediction]:
    """Every step of the recorded translation, with its `top` likeliest pieces."""
    expected = recording.streams["expected"].tokens
    # An answer is not written at a place of the source, but at the end of all of it.
    stream = recording.axes["logits"][0] if len(recording.axes["logits"]) > 1 else None
    reads = [token.piece for token in recording.streams[stream].tokens] if stream else [recording.source]
    found = []
    # Where outputs are fewer than inputs, the last places have nothing to write.
    for t, row in enumerate(log_probabilities(recording)[: len(expected)]):
        written = expected[t].id
        order = np.argsort(-row, kind="stable")
        guesses = tuple(Guess(int(i), recording.vocabulary[i], float(np.exp(row[i]))) for i in order[:top])
        rank = int(np.flatnonzero(order == written)[0]) + 1
        entropy = float(-(np.exp(row) * row).sum())
        found.append(Prediction(t, reads[t], expected[t].piece, float(row[written]), rank, entropy, guesses))
    return found
