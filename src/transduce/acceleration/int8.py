"""Products in 8-bit integers (`int8.c`), where native code can be built and the processor is an x86-64 with AVX2 or
more.

A weight has a scale for each output; each row of the input has its own, so that a sentence's result does not depend on
what shares its batch (PyTorch's dynamic quantisation has one scale for a whole batch). Gain over `F.linear` in float32
and quality: docs/performance.md. A product is off by about 1 %, and by 2 % with AVX2, which has 7 bits for either side.
The plain twin is `F.linear`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transduce.acceleration import native


class Int8:
    """A `Kernel` with weights and inputs in 8 bits. It runs on one thread."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        library = native.load()
        assert library is not None
        self._outputs, self._inputs = weight.shape
        self._bias = None if bias is None else bias.float().contiguous()
        self._packed = torch.empty(library.int8_weight_bytes(self._outputs, self._inputs), dtype=torch.int8)
        self._scales, self._totals = torch.empty(self._outputs), torch.empty(self._outputs, dtype=torch.int32)
        tensors = (self._packed, self._scales, self._totals, self._bias)
        self.addresses = tuple(None if x is None else x.data_ptr() for x in tensors)
        """Of weights, scales, totals and bias, which live as long as this."""
        weight = weight.float().contiguous()
        library.int8_pack(weight.data_ptr(), self._outputs, self._inputs, *self.addresses[:3])
        self._row_bytes, self._linear = library.int8_row_bytes(self._inputs), library.int8_linear

    def __call__(self, x: Tensor) -> Tensor:
        x = x.contiguous()
        rows = x.numel() // self._inputs
        y = x.new_empty(*x.shape[:-1], self._outputs)
        work = torch.empty(rows * self._row_bytes, dtype=torch.int8)
        self._linear(
            x.data_ptr(), rows, self._inputs, *self.addresses, self._outputs,
            y.data_ptr(), work.data_ptr(),
        )  # fmt: skip
        return y


def available() -> bool:
    return path() != "none"


def path() -> str:
    """Which instructions the built code uses, in words."""
    library = native.load()
    found = None if library is None else library.int8_path()
    return "none" if found is None else found.decode()
