"""float32 products by oneDNN, with weights in the order that its kernels read.

Gain over `F.linear`, one thread, 256 to 10,000: with AVX2 1.9 times for 2 rows, 1.7 for 4, 1.4 for 64; on a processor
whose AVX-512 the usual library (MKL) does not use 2.3, 3.0 and 2.6. The plain twin is `F.linear`: sums are taken in
another order, so results agree to about 1e-6 of the largest.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

_FEWEST = 400_000
"""Multiplications under which the call costs more than it saves (measured: 2 rows of 256 to 768)."""

_FEW, _MANY = 16, 64
"""Rows are filled up to a multiple of these. oneDNN makes code for every number of rows that it meets and keeps it:
half a megabyte each, so that a process which translates texts of all lengths would grow by hundreds of megabytes."""


def available() -> bool:
    """Whether this PyTorch has the two operations; they are not among those it promises to keep."""
    names = ("_linear_pointwise", "_reorder_linear_weight")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in names)


class Packed:
    """A `Kernel` in float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight.contiguous(), bias
        self._packed = torch.ops.mkldnn._reorder_linear_weight(self._weight, None)

    def __call__(self, x: Tensor) -> Tensor:
        if x.numel() * len(self._weight) < _FEWEST:
            return F.linear(x, self._weight, self._bias)
        rows = x.reshape(-1, x.shape[-1])
        if missing := -len(rows) % (_MANY if len(rows) > _MANY else _FEW):
            rows = F.pad(rows, (0, 0, 0, missing))
        product = torch.ops.mkldnn._linear_pointwise(rows, self._packed, self._bias, "none", [], "")
        return product[: len(rows) - missing].reshape(*x.shape[:-1], len(self._weight))
