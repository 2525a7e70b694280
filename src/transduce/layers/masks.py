"""Which keys a query may see (paper 3.2.3). True = may be seen."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def padding_mask(lengths: Int[Tensor, "b"], size: int, device: torch.device) -> Bool[Tensor, "b 1 1 {size}"] | None:
    """Hide the padding behind each sequence; None where nothing is padded, so that no mask is applied.

    `lengths` is on the CPU: the question costs no synchronisation with a device.
    """
    if lengths.numel() == 0 or int(lengths.min()) == size:
        return None
    visible = torch.arange(size) < lengths[:, None]
    return visible.to(device, non_blocking=True)[:, None, None, :]


def causal_mask(size: int, device: torch.device) -> Bool[Tensor, "{size} {size}"]:
    """Query i sees keys 0 … i only, so that no position reads the answer it is to predict."""
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()
