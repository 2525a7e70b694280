"""Dropout of training in native code (`dropout.c`) on a CPU.

A number is read and written once, and its mask is kept in a byte, where PyTorch's operations pass over it four times
and keep four bytes. Gain at 2,048 rows of 256, one thread, drawing and gradient included: 1.6 times. The plain twin is
`transduce.layers.dropout.plain_dropout`: the same draws, the same numbers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from transduce.acceleration import native
from transduce.acceleration.side_by_side import in_even_parts

_OF_A_THREAD = 100_000
"""Numbers for which a thread of their own pays."""


def fits(x: Tensor) -> bool:
    """Whether native code can take it."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and x.is_contiguous() and native.load() is not None


def fused_dropout(x: Tensor, draws: Tensor, least: int, scale: float) -> Tensor:
    """x · scale where a draw of 16 bits is at least `least`, else 0; as many draws as x has numbers, or more."""
    made: Tensor = _Dropout.apply(x, draws, least, scale)
    return made


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, draws: Tensor, least: int, scale: float) -> Tensor:
        library = native.load()
        assert library is not None
        y, kept = torch.empty_like(x), torch.empty_like(x, dtype=torch.uint8)
        pointers = (x.data_ptr(), draws.data_ptr(), least, scale, y.data_ptr(), kept.data_ptr())
        _each(lambda first, last: library.dropout_forward(*pointers, first, last), x)
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor, None, None, None]:
        library = native.load()
        assert library is not None
        (kept,) = ctx.saved_tensors
        d_y = d_y.contiguous()
        d_x = torch.empty_like(d_y)
        pointers = (d_y.data_ptr(), kept.data_ptr(), ctx.scale, d_x.data_ptr())
        _each(lambda first, last: library.dropout_backward(*pointers, first, last), d_y)
        return d_x, None, None, None


def _each(run: Any, x: Tensor) -> None:
    in_even_parts(run, x.numel(), x.numel() // _OF_A_THREAD)
