"""A batch: named streams of token ids, padded, with their lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transduce.text.specials import PAD


@dataclass(frozen=True, slots=True)
class Stream:
    """Token ids of one side of a batch, padded at the end.

    The lengths stay on the CPU: asking whether anything is padded then waits for no device.
    """

    ids: Int[Tensor, "b t"]
    lengths: Int[Tensor, "b"]

    @classmethod
    def pad(cls, rows: Sequence[Sequence[int] | np.ndarray]) -> Stream:
        """Pad rows of ids with `PAD` to the longest; an empty row stays a row of padding."""
        lengths = [len(row) for row in rows]
        ids = np.full((len(rows), max(lengths, default=0)), PAD, dtype=np.int64)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
        return cls(torch.from_numpy(ids), torch.tensor(lengths, dtype=torch.int64))

    def to(self, device: torch.device | str) -> Stream:
        return Stream(self.ids.to(device, non_blocking=True), self.lengths)


@dataclass(frozen=True, slots=True)
class Batch:
    """What a task makes of some examples: streams by name, and which examples they are."""

    streams: Mapping[str, Stream]
    examples: tuple[int, ...]
    """Index of each row's example in the store; a fault can be traced to its line through it."""

    def __getitem__(self, name: str) -> Stream:
        return self.streams[name]

    def __len__(self) -> int:
        return len(self.examples)

    def to(self, device: torch.device | str) -> Batch:
        return Batch({name: stream.to(device) for name, stream in self.streams.items()}, self.examples)
