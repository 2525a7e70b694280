"""How much of a vector attention really brings from each place: ‖α · x W^V W^O‖ (Kobayashi et al. 2020).

A large weight on a vector that is nearly nothing brings nearly nothing; the weights alone don't show that.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import nn


def value_norms(model: nn.Module, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """For each tap `PLACE.weights` [h t s] a tensor `PLACE.norms` of the same shape, where the values are heard too.

    A head's W^O is the slice of the place's matrix of that name; where there is none, attention returns the values
    themselves.
    """
    modules = {getattr(module, "name", None): module for module in model.modules()}
    found = {}
    for name, weights in tensors.items():
        place, _, part = name.rpartition(".")
        values = tensors.get(f"{place}.values")
        if part == "weights" and values is not None:
            found[f"{place}.norms"] = weights * _brought(values, modules.get(place))[:, None]
    return found


def head_outputs(W_o: nn.Linear, heads: np.ndarray) -> np.ndarray:
    """What each head adds to the sub-layer's output, from Attention(Q, K, V) of each head [h t v]: [h t d].

    Their sum and the bias of W^O is the output.
    """
    weight = W_o.weight.detach().float().cpu().numpy()
    slices = weight.reshape(weight.shape[0], heads.shape[0], heads.shape[2])
    return np.einsum("htv,dhv->htd", heads, slices)


def _brought(values: np.ndarray, module: nn.Module | None) -> np.ndarray:
    """‖x W^V W^O‖ of each head and place [h s]."""
    W_o = getattr(module, "W_o", None)
    values = values if values.ndim == 3 else values[None]
    vectors = head_outputs(W_o, values) if isinstance(W_o, nn.Linear) else values
    return np.linalg.norm(vectors, axis=-1)
