"""Where hypotheses stand in decoding, so that what they share is held once and nothing is moved.

A sentence's hypotheses are taken as so many queries of one sentence: a grid of b sentences by n places, with empty
places where a sentence has fewer. Keys and values of the source are then held once for each sentence, and those of
the tokens so far are written once and stay; which of them are a hypothesis's own past, `visible` says. When beams
change places, only that small table changes; keys and values are copied when sentences leave, and then those that stay.
Measured with 64 sentences, beam 4, 15 tokens: 0.50 ms for a layer's attention, against 0.36 ms and 0.44 ms for moving
each hypothesis's past.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Grid:
    """The place of each of r rows among b · n places, and the tokens so far that each place may see."""

    sentences: int
    width: int
    places: Int[np.ndarray, "r"]
    """Sentence · n + its place there; rising order is not asked for."""
    visible: Bool[Tensor, "bn seen"] | None = None
    """None: every token so far of its sentence."""

    @classmethod
    def start(cls, sentences: int) -> Grid:
        """One hypothesis for each sentence, without tokens."""
        return cls(sentences, 1, np.arange(sentences))

    @property
    def full(self) -> bool:
        """Whether row i stands at place i and no place is empty."""
        return len(self.places) == self.sentences * self.width and bool((np.diff(self.places) == 1).all())

    def spread(self, rows: Int[Tensor, "r"]) -> Int[Tensor, "bn"]:
        """Rows at their places; 0 in the empty ones."""
        if self.full:
            return rows
        return rows.new_zeros(self.sentences * self.width).index_copy(0, self._places_on(rows.device), rows)

    def gather(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "r d"]:
        """The rows of what stands at the places."""
        x = x.flatten(0, 1)
        return x if self.full else x.index_select(0, self._places_on(x.device))

    def grow(self, seen: int, device: torch.device) -> Grid:
        """Every place writes one token more, which it alone sees; `seen` tokens of its sentence were there."""
        if self.visible is None and self.width == 1:
            return self
        own = torch.eye(self.width, dtype=torch.bool, device=device).repeat(self.sentences, 1)
        before = self.visible
        if before is None:
            before = own.new_ones(len(own), seen)
        return replace(self, visible=torch.cat([before, own], 1))

    def mask(self) -> Bool[Tensor, "b 1 n seen"] | None:
        return None if self.visible is None else self.visible.view(self.sentences, 1, self.width, -1)

    def select(self, rows: Int[np.ndarray, "m"]) -> tuple[Grid, Int[np.ndarray, "b"] | None]:
        """The given rows as a grid of their own, and which sentences it keeps (None: all, in their order)."""
        taken = self.places[rows]
        sentences, index, counts = np.unique(taken // self.width, return_inverse=True, return_counts=True)
        width = int(counts.max(initial=1))
        places = index * width + ranks(index, counts)
        visible = self.visible
        if visible is not None:
            # What an empty place sees does not matter, but it must see something: softmax over nothing is NaN.
            came_from = np.repeat(sentences * self.width, width)
            came_from[places] = taken
            visible = visible.index_select(0, torch.from_numpy(came_from).to(visible.device))
        kept = None if len(sentences) == self.sentences else sentences
        return Grid(len(sentences), width, places, visible), kept

    def _places_on(self, device: torch.device) -> Int[Tensor, "r"]:
        return torch.from_numpy(self.places).to(device)


def ranks(groups: Int[np.ndarray, "m"], counts: Int[np.ndarray, "g"]) -> Int[np.ndarray, "m"]:
    """Place of each within its group, from 0, in their order; `counts` is how many each group has."""
    order = np.argsort(groups, kind="stable")
    found = np.empty_like(groups)
    found[order] = np.arange(len(groups)) - (np.cumsum(counts) - counts)[groups[order]]
    return found


class Room:
    """Keys and values of a sentence's tokens so far, and empty room behind them."""

    def __init__(self, keys: Float[Tensor, "b h room k"], values: Float[Tensor, "b h room v"]) -> None:
        self.keys, self.values = keys, values
        self.written = 0


@dataclass(frozen=True, slots=True)
class Past:
    """The first `seen` tokens of a room. Written behind them in place, unless another has done so before."""

    room: Room
    seen: int = 0

    @classmethod
    def start(cls, keys: Float[Tensor, "b h s k"], values: Float[Tensor, "b h s v"]) -> Past:
        """Nothing yet, for as many sentences and heads as the given keys and values have."""
        return cls(Room(keys[:, :, :0], values[:, :, :0]))

    def append(self, keys: Float[Tensor, "b h n k"], values: Float[Tensor, "b h n v"]) -> Past:
        room, end = self.room, self.seen + keys.shape[2]
        if room.written != self.seen or end > room.keys.shape[2]:
            room = self._copy(self.keys, self.values, 2 * end + 14)
        room.keys[:, :, self.seen : end] = keys
        room.values[:, :, self.seen : end] = values
        room.written = end
        return Past(room, end)

    @property
    def keys(self) -> Float[Tensor, "b h seen k"]:
        return self.room.keys[:, :, : self.seen]

    @property
    def values(self) -> Float[Tensor, "b h seen v"]:
        return self.room.values[:, :, : self.seen]

    def select(self, sentences: Int[Tensor, "n"]) -> Past:
        keys, values = (x.index_select(0, sentences) for x in (self.keys, self.values))
        return Past(self._copy(keys, values, self.room.keys.shape[2]), self.seen)

    def _copy(self, keys: Tensor, values: Tensor, size: int) -> Room:
        room = Room(*(x.new_empty(*x.shape[:2], size, x.shape[3]) for x in (keys, values)))
        room.keys[:, :, : self.seen] = keys
        room.values[:, :, : self.seen] = values
        room.written = self.seen
        return room


class FixedPast:
    """A layer's keys and values of the tokens so far; where the next ones go, `slots` says on the device."""

    def __init__(self, keys: Tensor, values: Tensor, slots: Int[Tensor, "n"]) -> None:
        self.keys, self.values, self._slots = keys, values, slots

    def append(self, keys: Float[Tensor, "b h n k"], values: Float[Tensor, "b h n v"]) -> FixedPast:
        self.keys.index_copy_(2, self._slots, keys)
        self.values.index_copy_(2, self._slots, values)
        return self
