"""Affine maps whose weights were prepared for inference.

PyTorch takes a weight as it lies and arranges it anew at each product: with few rows, as in decoding, that can cost
more than the product. `prepare` has each weight of a model arranged once, and `linear` uses that. Nothing is prepared
for training, and a model whose weights change afterwards must be prepared again. The plain twin is `F.linear`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Kernel = Callable[[Tensor], Tensor]
"""x [*n k] to xWᵀ + b [*n v], for a W and b of its own."""
Maker = Callable[[Tensor, Tensor | None], Kernel]
"""A kernel for W [v k] and b [v]."""

ALL = slice(None)


class Prepared:
    """Kernels of a weight, whole or some rows of it; each is made when it is first needed."""

    def __init__(self, make: Maker, weight: Tensor, bias: Tensor | None) -> None:
        self._make, self._weight, self._bias = make, weight.detach(), None if bias is None else bias.detach()
        self._kernels: dict[tuple[int | None, int | None], Kernel] = {}

    def __call__(self, x: Tensor, rows: slice) -> Tensor:
        key = (rows.start, rows.stop)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._make(self._weight[rows], None if self._bias is None else self._bias[rows])
            self._kernels[key] = kernel
        return kernel(x)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, rows: slice = ALL) -> Tensor:
    """xWᵀ + b, or the outputs that some rows of W [v k] make, by the weight's kernel if it was prepared."""
    prepared: Prepared | None = getattr(weight, "prepared", None)
    if prepared is not None and not torch.is_grad_enabled():
        return prepared(x, rows)
    if rows is ALL:
        return F.linear(x, weight, bias)
    return F.linear(x, weight[rows], None if bias is None else bias[rows])


def prepare(model: nn.Module, make: Maker) -> None:
    """Have every `nn.Linear` of a model, and its projection to the vocabulary, computed by a kernel of `make`."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.prepared = Prepared(make, module.weight, module.bias)  # type: ignore[attr-defined]
            module.forward = partial(linear, weight=module.weight, bias=module.bias)  # type: ignore[method-assign]
    projection = getattr(model, "projection", None)
    if isinstance(projection, nn.Parameter):
        projection.prepared = Prepared(make, projection, None)  # type: ignore[attr-defined]
