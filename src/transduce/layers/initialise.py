"""How weights start."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor


@torch.no_grad()
def glorot_uniform(*matrices: Tensor) -> None:
    """Uniform in ±√(6 / (fan_in + fan_out)) for each matrix on its own, also for views into a packed one."""
    for matrix in matrices:
        rows, columns = matrix.shape
        bound = math.sqrt(6 / (rows + columns))
        matrix.uniform_(-bound, bound)


@torch.no_grad()
def zeros(parameters: Iterable[Tensor | None]) -> None:
    """Set biases to zero; a bias that is not there is passed by."""
    for parameter in parameters:
        if parameter is not None:
            parameter.zero_()
