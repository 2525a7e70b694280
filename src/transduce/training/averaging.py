"""The mean of several checkpoints' weights (paper 6.1)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from transduce.errors import RunError
from transduce.run_folder import Snapshot


def average_weights(snapshots: Sequence[Snapshot]) -> dict[str, Tensor]:
    """Mean of each weight over the snapshots, summed in double precision, in the weights' own type."""
    total: dict[str, Tensor] = {}
    kinds: dict[str, torch.dtype] = {}
    for snapshot in snapshots:
        weights = snapshot.tensors("weights")
        if total and {n: t.shape for n, t in weights.items()} != {n: t.shape for n, t in total.items()}:
            raise RunError(f"{snapshot.folder}: its weights are not those of {snapshots[0].folder}: no mean of both")
        for name, tensor in weights.items():
            kinds[name] = tensor.dtype
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(snapshots)).to(kinds[name]) for name, tensor in total.items()}
