"""Label-smoothed cross entropy and its gradient, in native code (`cross_entropy.c`) on a CPU.

A row of logits is read from memory once, where PyTorch's operations pass over the table six times. Gain at 215 rows of
9,729, one thread: 4.3 times. The plain twin is `plain_cross_entropy`.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.acceleration import native
from transduce.acceleration.side_by_side import in_even_parts
from transduce.text.specials import PAD

_ROWS_OF_A_THREAD = 64
"""Fewest for which a thread of their own pays."""


def cross_entropy(
    table: Float[Tensor, "n v"], expected: Int[Tensor, "n"], smoothing: float
) -> tuple[Float[Tensor, ""], Float[Tensor, "n v"]]:
    """−Σ q log p summed over the rows, and its gradient, p − q, which may take the place of the logits in `table`.

    p is the softmax of a row; q is 1 − ε on the expected token plus ε spread evenly. A row that expects padding adds
    nothing, and its gradient is 0.
    """
    library = native.load_for(table)
    if library is None:
        return plain_cross_entropy(table, expected, smoothing)
    (rows, size), expected = table.shape, expected.contiguous()
    losses = torch.empty(rows, dtype=torch.float64)

    def part(first: int, last: int) -> None:
        library.cross_entropy_rows(
            table[first:].data_ptr(), last - first, size, expected[first:].data_ptr(), PAD, smoothing,
            losses[first:].data_ptr(),
        )  # fmt: skip

    in_even_parts(part, rows, rows // _ROWS_OF_A_THREAD)
    return losses.sum().to(table.dtype), table


def plain_cross_entropy(
    table: Float[Tensor, "n v"], expected: Int[Tensor, "n"], smoothing: float
) -> tuple[Float[Tensor, ""], Float[Tensor, "n v"]]:
    """The same in PyTorch's operations."""
    y = expected[:, None]
    real = y != PAD
    log_p = table.log_softmax(-1)
    per_token = (1 - smoothing) * log_p.gather(1, y) + smoothing * log_p.mean(1, keepdim=True)
    loss = -(per_token * real).sum()
    p_minus_q = log_p.exp_().sub_(smoothing / table.shape[1])
    p_minus_q.scatter_add_(1, y, torch.full_like(y, smoothing - 1, dtype=table.dtype))
    return loss, p_minus_q.mul_(real)
