"""Each attention head by itself: what it is like, and what the translation becomes without it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from transduce.errors import InputError
from transduce.inspection.alignment import Change
from transduce.inspection.recorder import only_model
from transduce.inspection.recording import Recording
from transduce.inspection.switches import without
from transduce.layers.tap import record as listening
from transduce.text.lines import safe
from transduce.translator import Translator


@dataclass(frozen=True, slots=True)
class HeadSummary:
    """One head over all rows of one sentence."""

    place: str
    head: int
    confidence: float
    """Mean over the rows of the largest weight: 1 = always one place."""
    entropy: float
    """Mean over the rows of −Σ α ln α, in nats: 0 = one place, ln n = all n alike."""
    offset: int
    """Place of the largest weight less the row's own place, as it most often is; of equally frequent ones the nearest
    to 0. −1 is the place before."""
    offset_share: float
    """Share of the rows that have this offset."""


def summaries(recording: Recording) -> list[HeadSummary]:
    """Every head of every place that attends, in the order of the model."""
    found = []
    for place in recording.places:
        for head, weights in enumerate(recording.tensors[f"{place}.weights"].astype(np.float64)):
            logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
            offsets = Counter((weights.argmax(1) - np.arange(len(weights))).tolist())
            offset, count = min(offsets.items(), key=lambda item: (-item[1], abs(item[0]), item[0]))
            confidence, entropy = float(weights.max(1).mean()), float(-(weights * logs).sum(1).mean())
            found.append(HeadSummary(place, head, confidence, entropy, offset, count / len(weights)))
    return found


def without_head(translator: Translator, sentence: str, place: str, head: int, *, beam: int | None = None) -> Change:
    """Translate a sentence as it is, and with what one head brings set to 0 at every step.

    `head` counts from 0. Raises InputError where there is no such place or head.
    """
    only_model(translator)
    text = safe(sentence)
    options: dict[str, Any] = {} if beam is None else {"beam": beam}
    heads: dict[str, int] = {}

    def listen(name: str, value: Tensor) -> Tensor:
        where, _, part = name.rpartition(".")
        if part == "weights":
            heads[where] = value.shape[1]
        return value

    with listening(listen):
        (before,) = translator.translate([text], **options)
    if not 0 <= head < heads.get(place, 0):
        known = ", ".join(f"{name} ({count})" for name, count in heads.items())
        raise InputError(
            f"head {head} of {place}: expected one of the heads (from 0) of {known or 'a model with heads'}"
        )
    with listening(without([(place, head)])):
        (after,) = translator.translate([text], **options)
    return Change(text, text, before.text, after.text, before.score, after.score)
