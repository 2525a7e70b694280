"""Dropout of training in native code (`dropout.c`) on a CPU.

A number is read and written once, and its mask is kept in a byte, where PyTorch's operations pass over it four times
and keep four bytes. Gain at 2,048 rows of 256, one thread, drawing and gradient included: 1.6 times. The plain twin is
`plain_masked`: the same draws, the same numbers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.acceleration import native
from transduce.acceleration.side_by_side import Part, in_even_parts

_OF_A_THREAD = 100_000
"""Numbers for which a thread of their own pays."""


def masked(
    x: Tensor, draws: Int[Tensor, "n"], least: int, scale: float, onto: Float[Tensor, "..."] | None = None
) -> Tensor:
    """x · scale where a draw of 16 bits is at least `least`, else 0, and `onto` added; draws for all of x, or more."""
    if native.load_for(x) is None or (onto is not None and native.load_for(onto) is None):
        return plain_masked(x, draws, least, scale, onto)
    made: Tensor = _Masked.apply(x, draws, least, scale, onto)
    return made


def plain_masked(
    x: Tensor, draws: Int[Tensor, "n"], least: int, scale: float, onto: Float[Tensor, "..."] | None = None
) -> Tensor:
    """The same in PyTorch's operations."""
    kept = (draws[: x.numel()] >= least).view(x.shape)
    made = x * kept.to(x.dtype).mul_(scale)
    return made if onto is None else onto + made


class _Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, draws: Tensor, least: int, scale: float, onto: Tensor | None) -> Tensor:
        library = native.load()
        assert library is not None
        y, kept = torch.empty_like(x), torch.empty_like(x, dtype=torch.uint8)
        added = None if onto is None else onto.data_ptr()
        numbers = (x.data_ptr(), draws.data_ptr(), least, scale, added, y.data_ptr(), kept.data_ptr())
        _each(partial(library.dropout_forward, *numbers), x)
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor, None, None, None, Tensor | None]:
        library = native.load()
        assert library is not None
        (kept,) = ctx.saved_tensors
        d_y = d_y.contiguous()
        d_x = torch.empty_like(d_y)
        _each(partial(library.dropout_backward, d_y.data_ptr(), kept.data_ptr(), ctx.scale, d_x.data_ptr()), d_y)
        return d_x, None, None, None, d_y if ctx.needs_input_grad[4] else None


def _each(run: Part, x: Tensor) -> None:
    in_even_parts(run, x.numel(), x.numel() // _OF_A_THREAD)
