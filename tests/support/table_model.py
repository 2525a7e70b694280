"""A model that is a random table: search can be judged on it by brute force."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transduce.text.specials import BOS, EOS, PAD

BANNED = (PAD, BOS)
"""What tests with small vocabularies ban: ids 3 and up are text there."""


@dataclass(frozen=True)
class TableRows:
    """Memory and State: a number per row that stands for the source and the tokens so far."""

    key: Tensor
    position: int = 0
    capacity: int = 0

    def select(self, rows: Tensor) -> TableRows:
        return TableRows(self.key.index_select(0, rows), self.position, self.capacity)


class TableModel(nn.Module):
    """Logits looked up by a hash of the source and of every token so far: each context has its own.

    `scale` is the standard deviation of the logits. With `ends` false the end mark is impossible. Past its
    positions or its capacity it raises IndexError, as a table of positions would.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        seed: int = 0,
        scale: float = 2.0,
        max_positions: int | None = None,
        ends: bool = True,
        contexts: int = 9973,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.vocabulary, self.max_positions, self.contexts = vocabulary, max_positions, contexts
        generator = torch.Generator().manual_seed(seed)
        table = torch.randn(contexts, vocabulary, generator=generator) * scale
        if not ends:
            table[:, EOS] = -torch.inf
        self.register_buffer("table", table)
        self.dropout = nn.Dropout(dropout)
        self.encoded = 0
        """Rows given to the encoder so far."""
        self.stepped: list[int] = []
        """Rows of each step."""

    def encode(self, source: Tensor, lengths: Tensor) -> TableRows:
        self.encoded += len(source)
        key = torch.ones(len(source), dtype=torch.int64)
        for t in range(source.shape[1]):
            key = torch.where(t < lengths, self._mix(key, source[:, t]), key)
        return TableRows(key)

    def start(self, memory: TableRows, capacity: int) -> TableRows:
        return TableRows(memory.key, 0, capacity)

    def step(self, previous: Tensor, state: TableRows) -> tuple[Tensor, TableRows]:
        if state.position >= state.capacity:
            raise IndexError(f"step {state.position} of a state with room for {state.capacity}")
        if self.max_positions is not None and state.position >= self.max_positions:
            raise IndexError(f"position {state.position} of a table of {self.max_positions}")
        self.stepped.append(len(previous))
        key = self._mix(state.key, previous)
        return self.dropout(self.table[key]), TableRows(key, state.position + 1, state.capacity)

    def _mix(self, key: Tensor, token: Tensor) -> Tensor:
        return (key * 131 + token * 17 + 7) % self.contexts
