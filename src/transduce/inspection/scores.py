"""One query in detail: what attention does between its queries and its weights, which no tap shows."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from transduce.inspection.packing import packed
from transduce.inspection.recording import Recording

Score = Literal["scaled", "dot", "other"]

_LARGEST = 20.0
"""Score up to which its power of e is a number that people can read."""


def scores(recording: Recording) -> dict[str, Any] | None:
    """{"places": [{place, score, width, root, products, scaled, powers, total, shift}]}.

    `products` is q·k for every query and key [h t s], `scaled` that over `root`, √d_k. `powers` is e^(score − shift)
    and `total` its sum over the keys [h t]: a weight is a power by the total. `shift` is 0 unless that were too large.
    `score` tells how a score is made, found by computing it: q·k/√d_k, q·k, or otherwise, as where it is additive.
    """
    places = [_place(recording, place) for place in recording.places if _complete(recording, place)]
    return {"places": places} if places else None


def _complete(recording: Recording, place: str) -> bool:
    return all(f"{place}.{part}" in recording.tensors for part in ("queries", "keys", "values", "scores"))


def _place(recording: Recording, place: str) -> dict[str, Any]:
    queries, keys = (_by_head(recording.tensors[f"{place}.{part}"]) for part in ("queries", "keys"))
    recorded = recording.tensors[f"{place}.scores"]
    products = queries @ keys.transpose(0, 2, 1)
    width = queries.shape[-1]
    score = _score(recorded, products, width)
    # An empty source has no key to see, and no score.
    largest = np.max(recorded, axis=-1, initial=-np.inf).astype(np.float64)
    shift = np.where(largest > _LARGEST, largest, 0.0)
    powers = np.exp(recorded - shift[..., None])
    return {
        "place": place,
        "score": score,
        "width": width,
        "root": math.sqrt(width),
        "products": None if score == "other" else packed(products),
        "scaled": packed(products / math.sqrt(width)) if score == "scaled" else None,
        "powers": packed(powers),
        "total": packed(powers.sum(-1)),
        "shift": packed(shift),
    }


def _score(recorded: np.ndarray, products: np.ndarray, width: int) -> Score:
    seen = np.isfinite(recorded)
    ways: tuple[tuple[Score, np.ndarray], ...] = (("scaled", products / math.sqrt(width)), ("dot", products))
    for name, made in ways:
        if np.allclose(made[seen], recorded[seen], rtol=1e-4, atol=1e-4):
            return name
    return "other"


def _by_head(tensor: np.ndarray) -> np.ndarray:
    return (tensor if tensor.ndim == 3 else tensor[None]).astype(np.float64)
