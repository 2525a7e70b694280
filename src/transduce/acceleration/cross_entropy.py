"""Label-smoothed cross entropy and its gradient, in native code (`cross_entropy.c`) on a CPU.

A row of logits is read from memory once, where PyTorch's operations pass over the table six times. Gain at 215 rows of
9,729, one thread: 4.3 times. The plain twin is `plain_cross_entropy`.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.acceleration import native
from transduce.acceleration.threads import in_parts
from transduce.text.specials import PAD

_ROWS_OF_A_THREAD = 64
"""Fewest for which a thread of their own pays."""


def cross_entropy(table: Float[Tensor, "n v"], expected: Int[Tensor, "n"], smoothing: float) -> Float[Tensor, ""]:
    """−Σ q log p summed over the rows; the logits in `table` give place to its gradient, p − q.

    p is the softmax of a row; q is 1 − ε on the expected token plus ε spread evenly. A row that expects padding adds
    nothing, and its gradient is 0.
    """
    fits = table.device.type == "cpu" and table.dtype == torch.float32 and table.is_contiguous()
    library = native.load() if fits else None
    if library is None:
        return plain_cross_entropy(table, expected, smoothing)
    (rows, size), expected = table.shape, expected.contiguous()
    losses = torch.empty(rows, dtype=torch.float64)

    def part(first: int, last: int) -> int:
        library.cross_entropy_rows(
            table[first:].data_ptr(), last - first, size, expected[first:].data_ptr(), PAD, smoothing,
            losses[first:].data_ptr(),
        )  # fmt: skip
        return 0

    threads = max(1, min(torch.get_num_threads(), rows // _ROWS_OF_A_THREAD))
    in_parts(part, [rows * i // threads for i in range(threads + 1)])
    return losses.sum().to(table.dtype)


def plain_cross_entropy(table: Float[Tensor, "n v"], expected: Int[Tensor, "n"], smoothing: float) -> Float[Tensor, ""]:
    """The same in PyTorch's operations."""
    y = expected[:, None]
    real = y != PAD
    log_p = table.log_softmax(-1)
    per_token = (1 - smoothing) * log_p.gather(1, y) + smoothing * log_p.mean(1, keepdim=True)
    q = torch.full_like(table, smoothing / table.shape[1])
    q.scatter_add_(1, y, torch.full_like(y, 1 - smoothing, dtype=table.dtype))
    table.copy_((log_p.exp_() - q) * real)
    return -(per_token * real).sum()
