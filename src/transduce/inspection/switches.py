"""Heads switched off: what they bring is 0."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from transduce.layers.tap import Recorder

Heads = Sequence[tuple[str, int]]
"""Places, such as `decoder.1.cross`, and numbers of heads there, from 0."""


def without(heads: Heads) -> Recorder:
    """A recorder that puts 0 in the place of what each of the heads brings, and leaves everything else as it is."""
    off: dict[str, list[int]] = {}
    for place, head in heads:
        off.setdefault(place, []).append(head)

    def switch_off(name: str, value: Tensor) -> Tensor:
        place, _, part = name.rpartition(".")
        if place not in off:
            return value
        if part == "heads":
            keep = [head not in off[place] for head in range(value.shape[1])]
            return value * torch.tensor(keep, device=value.device)[:, None, None]
        # Attention with a single head returns its context as it is.
        return torch.zeros_like(value) if part == "context" else value

    return switch_off
