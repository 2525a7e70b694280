"""What stands beside the taps so that each step of attention and of normalisation can be followed to its end.

`PLACE.projected` [h t d] is what each head adds to the output through its slice of W^O, and `PLACE.bias` [d]
what W^O adds to their sum. `….residual.standard` is the sum with mean 0 and variance 1 at each position; times
`….residual.gain` plus `….residual.shift` it is the output of the layer normalisation.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transduce.inspection.capture import Axes, Captured
from transduce.inspection.norms import head_outputs
from transduce.layers.residual import Residual


def parts(model: nn.Module, captured: Captured) -> Captured:
    """The tensors that the model's parameters and the captured ones make; none for a model that has no such parts."""
    tensors: dict[str, np.ndarray] = {}
    axes: dict[str, Axes] = {}
    modules = {getattr(module, "name", None): module for module in model.modules()}
    for name, tensor in captured.tensors.items():
        place, _, part = name.rpartition(".")
        module = modules.get(place)
        W_o = getattr(module, "W_o", None)
        if part == "heads" and isinstance(W_o, nn.Linear):
            tensors[f"{place}.projected"] = head_outputs(W_o, tensor)
            axes[f"{place}.projected"] = captured.axes[name]
            tensors[f"{place}.bias"] = _array(W_o.bias)
            axes[f"{place}.bias"] = ("feature",)
        if part == "sum" and isinstance(module, Residual) and module.norm_place == "post":
            found = _normalisation(module.norm, tensor)
            tensors |= {f"{place}.{key}": array for key, array in found.items()}
            axes |= {f"{place}.{key}": captured.axes[name][-array.ndim :] for key, array in found.items()}
    return Captured(tensors, axes)


def _normalisation(norm: nn.Module, total: np.ndarray) -> Mapping[str, np.ndarray]:
    if not isinstance(norm, nn.LayerNorm):
        return {}
    standard = F.layer_norm(torch.from_numpy(total), norm.normalized_shape, eps=norm.eps)
    return {"standard": standard.numpy(), "gain": _array(norm.weight), "shift": _array(norm.bias)}


def _array(parameter: Tensor) -> np.ndarray:
    return parameter.detach().to("cpu", torch.float32, copy=True).numpy()
