"""Losses over the target vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from transduce.acceleration.cross_entropy import cross_entropy

CHUNK_BYTES = {"cpu": 8 << 20, "cuda": 256 << 20}
"""Logits that exist at a time: on a CPU what its cache holds, on a GPU enough to keep it busy."""


def label_smoothed_cross_entropy(
    hidden: Float[Tensor, "n d"], projection: Float[Tensor, "v d"], expected: Int[Tensor, "n"], smoothing: float
) -> Float[Tensor, ""]:
    """Sum over the tokens of −Σ_v q(v) log p(v), in nats; padding adds nothing (paper 5.4).

    p is the softmax of `hidden` · `projection`ᵀ; q is 1 − ε on the expected token plus ε spread evenly over all V
    tokens, the expected one included.

    The table of n · V logits never exists: a few rows at a time are projected, and their gradient, which is p − q, is
    made in the place of their logits while these are in the cache. Equal to PyTorch's `cross_entropy`, without most of
    its memory.
    """
    loss: Tensor = _ProjectedCrossEntropy.apply(hidden, projection, expected, smoothing)
    return loss


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Computes its gradients in the forward pass; the backward one only scales them, where they lie: it runs once."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "n d"],
        projection: Float[Tensor, "v d"],
        expected: Int[Tensor, "n"],
        smoothing: float,
    ) -> Float[Tensor, ""]:
        loss = torch.zeros((), device=hidden.device)
        d_hidden, d_projection = torch.zeros_like(hidden), torch.zeros_like(projection)
        for rows in _chunks(hidden, projection):
            h = hidden[rows]
            part, p_minus_q = cross_entropy(F.linear(h, projection).float(), expected[rows], smoothing)
            loss += part
            if any(ctx.needs_input_grad):
                d_hidden[rows] = p_minus_q @ projection
                _add_product(d_projection, p_minus_q.T, h)
            del part, p_minus_q  # before the next rows have logits
        ctx.save_for_backward(d_hidden, d_projection)
        return loss

    @staticmethod
    def backward(ctx: Any, upstream: Float[Tensor, ""]) -> tuple[Tensor, Tensor, None, None]:
        hidden, projection = ctx.saved_tensors
        return hidden.mul_(upstream), projection.mul_(upstream), None, None


def _add_product(total: Float[Tensor, "m n"], a: Float[Tensor, "m k"], b: Float[Tensor, "k n"]) -> None:
    """Add AB to `total`, where it lies unless a cast comes between."""
    if torch.is_autocast_enabled(total.device.type):
        total += a @ b
    else:
        torch.addmm(total, a, b, out=total)


def _chunks(hidden: Float[Tensor, "n d"], projection: Float[Tensor, "v d"]) -> Iterator[slice]:
    size = max(1, CHUNK_BYTES.get(hidden.device.type, 64 << 20) // (4 * len(projection)))
    return (slice(start, start + size) for start in range(0, len(hidden), size))
