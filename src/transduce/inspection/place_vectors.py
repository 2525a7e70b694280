"""What a model adds to tell where a token stands, and how alike its places are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from transduce.layers.position import LearnedPositions, ScalarPositions, SinusoidalPositions

Kind = Literal["sinusoidal", "learned", "scalar"]

_KINDS: dict[type[nn.Module], Kind] = {
    SinusoidalPositions: "sinusoidal",
    LearnedPositions: "learned",
    ScalarPositions: "scalar",
}


@dataclass(frozen=True, slots=True)
class PlaceVectors:
    """The vectors that one module adds to the embeddings of the first n places."""

    name: str
    """Of the module in the model, such as `positions` or `source_positions`."""
    kind: Kind
    vectors: Float[np.ndarray, "n d"]
    cosines: Float[np.ndarray, "n n"]
    """Cosine between the vectors of each two places; 0 where one of them is all 0."""


def place_vectors(model: nn.Module, d_model: int, *, places: int = 48) -> list[PlaceVectors]:
    """Every module of a model that adds positions; empty for a model that has none.

    Learned positions end where the model's longest sequence ends.
    """
    found = []
    for name, module in model.named_modules():
        kind = next((kind for of, kind in _KINDS.items() if isinstance(module, of)), None)
        if kind is not None:
            n = min(places, len(module.weight)) if isinstance(module, LearnedPositions) else places
            with torch.inference_mode():
                vectors = module(torch.zeros(1, n, d_model, device=next(model.parameters()).device))[0]
            array = vectors.float().cpu().numpy()
            found.append(PlaceVectors(name, kind, array, _cosines(array)))
    return found


def _cosines(vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n n"]:
    wide = vectors.astype(np.float64)
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    unit = np.divide(wide, length, out=np.zeros_like(wide), where=length > 0)
    return unit @ unit.T
