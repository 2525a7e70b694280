"""Matrix products of training in native code (`products.c`), forwards and backwards.

MKL, which computes them in PyTorch on x86-64, makes little use of processors that Intel did not make, and none of their
AVX-512. Gain on an AMD EPYC, one thread, at the shapes of training: 2.1 to 2.6 times, and 1.1 to 1.3 times where it is
held to AVX2. The plain twin is PyTorch's product: sums are taken in another order, so results agree to about 1e-6 of
the largest.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.library import Library

from transduce.acceleration import native
from transduce.acceleration.allocator import roomy_empty
from transduce.acceleration.side_by_side import in_even_parts
from transduce.devices import Compute

_FEWEST = 300_000
"""Multiplications under which the way through Python costs more than is saved."""
_OF_A_THREAD = 4_000_000
"""Multiplications for which a thread of their own pays."""


def pays(compute: Compute) -> bool:
    """Whether products are native where a model trains; else PyTorch computes them."""
    return compute.exact_on_cpu and _slow_in_pytorch() and native.instructions().startswith("AVX")


@contextmanager
def native_products(compute: Compute) -> Iterator[None]:
    """Have PyTorch call native code for products of float32 matrices, in layers and gradients, for a while."""
    if not pays(compute):
        yield
        return
    replaced = Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)
            replaced.impl("mm", _mm, "CPU")
            replaced.impl("addmm", _addmm, "CPU")
            replaced.impl("addmm.out", _addmm_out, "CPU")
        yield
    finally:
        replaced._destroy()


@cache
def _slow_in_pytorch() -> bool:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return False
    makers = {line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")}
    return bool(makers) and "GenuineIntel" not in makers and torch.backends.mkl.is_available()


def _mm(a: Float[Tensor, "m k"], b: Float[Tensor, "k n"]) -> Float[Tensor, "m n"]:
    if _pays(a, b):
        return product(a, b)
    return torch.mm(a, b, out=a.new_empty(len(a), b.shape[1]))


def _addmm(
    bias: Tensor, a: Float[Tensor, "m k"], b: Float[Tensor, "k n"], *, beta: float = 1, alpha: float = 1
) -> Float[Tensor, "m n"]:
    if beta == alpha == 1 and bias.shape == b.shape[1:] and bias.stride() == (1,) and _pays(a, b):
        return product(a, b, bias)
    return _addmm_out(bias, a, b, beta=beta, alpha=alpha, out=a.new_empty(len(a), b.shape[1]))


def _addmm_out(
    start: Tensor,
    a: Float[Tensor, "m k"],
    b: Float[Tensor, "k n"],
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Float[Tensor, "m n"],
) -> Tensor:
    fits = out.dtype == a.dtype and out.shape == (len(a), b.shape[1]) and out.is_contiguous()
    if start is out and beta == alpha == 1 and fits and _pays(a, b):
        return product(a, b, onto=out)
    return (out if start is out else out.copy_(start)).addmm_(a, b, beta=beta, alpha=alpha)


def _pays(a: Tensor, b: Tensor) -> bool:
    # Matrices that do not fit are left to PyTorch, which says so; native code would read beyond them.
    return a.dtype == b.dtype == torch.float32 and a.shape[1] == len(b) and a.numel() * b.shape[1] >= _FEWEST


def product(
    a: Float[Tensor, "m k"],
    b: Float[Tensor, "k n"],
    bias: Float[Tensor, "n"] | None = None,
    *,
    onto: Float[Tensor, "m n"] | None = None,
) -> Float[Tensor, "m n"]:
    """AB + bias of matrices that may lie in any order, or AB added to `onto`. This and the bias lie in one piece."""
    library = native.load()
    assert library is not None
    (rows, inner), columns = a.shape, b.shape[1]
    c = roomy_empty(rows, columns) if onto is None else onto
    start = bias if onto is None else onto
    operands = (
        a.data_ptr(), *a.stride(), b.data_ptr(), *b.stride(), None if start is None else start.data_ptr(), c.data_ptr(),
        columns,
    )  # fmt: skip

    def part(first: int, last: int) -> None:
        library.float32_product(*operands, first, last, inner, columns, columns)

    in_even_parts(part, rows, min(rows, rows * inner * columns // _OF_A_THREAD))
    return c
