"""Decoding in buffers of fixed shape, so that a step can be recorded once and replayed (`acceleration/graphs.py`).

It is `layers/grid.py`, the plain twin, with nothing that grows: every step attends to all of the room for tokens, and
`visible` hides what is empty; where to write, and which position it is, stands on the device. Buffers of a shape are
kept and used again, recording and all, so shapes come in few sizes.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.acceleration.graphs import replayable
from transduce.layers.blocks import KeyValues
from transduce.layers.grid import FixedPast, Grid, ranks

KEPT = 1 << 30
"""Bytes of the buffers that are kept for the next searches."""
ROOM = 32
"""Tokens of a hypothesis for which there is room at first; twice as many whenever it is full."""
SOURCE = 16
"""Source positions come in multiples of it."""


class Shape(NamedTuple):
    """Sentences, places of each, source positions, and tokens of a sentence for which there is room."""

    b: int
    n: int
    s: int
    room: int


class Lease:
    """Held by every state of a search: while one lives, nobody else gets its buffers."""


class Buffers:
    """All that a step reads and writes."""

    def __init__(self, shape: Shape, like: Sequence[KeyValues], positions: Float[Tensor, "p d"]) -> None:
        b, n, s, room = self.shape = shape
        self.positions, device = positions, positions.device
        self.previous = torch.zeros(b * n, dtype=torch.int64, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.slots = torch.arange(n, device=device)
        self.visible = torch.ones(b, 1, n, room, dtype=torch.bool, device=device)
        self.mask = torch.ones(b, 1, 1, s, dtype=torch.bool, device=device)

        def zeros(x: Tensor, length: int) -> Tensor:
            return x.new_zeros(b, x.shape[1], length, x.shape[3])

        self.memory = tuple(KeyValues(zeros(part.keys, s), zeros(part.values, s)) for part in like)
        self.pasts = tuple(FixedPast(zeros(part.keys, room), zeros(part.values, room), self.slots) for part in like)
        parts: list[KeyValues | FixedPast] = [*self.memory, *self.pasts]
        self.bytes = sum(part.keys.nbytes + part.values.nbytes for part in parts)
        self.written = 0
        """Slots that have been written, by whichever state came furthest."""
        self.lease: weakref.ref[Lease] = weakref.ref(Lease())
        self.replay: Callable[[], Tensor] | None = None

    def remember(self, memory: Sequence[KeyValues], mask: Bool[Tensor, "b 1 1 s"] | None) -> None:
        """Sentences' keys and values, padded to this shape. Sentences that there are not see one position of zeros."""
        b, _, s, _ = memory[0].keys.shape
        self.mask.zero_()
        self.mask[b:, :, :, 0] = True
        self.mask[:b, :, :, :s] = True if mask is None else mask
        for own, given in zip(self.memory, memory, strict=True):
            for kept, x in ((own.keys, given.keys), (own.values, given.values)):
                kept.zero_()
                kept[:b, :, :s] = x

    def take_over(self, other: Buffers, sentences: Int[Tensor, "m"], seen: int) -> None:
        """Some sentences of another's, with their first `seen` slots, at the first places here."""
        self.remember([part.select(sentences) for part in other.memory], other.mask.index_select(0, sentences))
        for own, given in zip(self.pasts, other.pasts, strict=True):
            for kept, x in ((own.keys, given.keys), (own.values, given.values)):
                kept[: len(sentences), :, :seen] = x[:, :, :seen].index_select(0, sentences)
        self.written = seen


@dataclass(frozen=True, slots=True)
class FixedState:
    """Where the rows stand among the places of the buffers, and what each place sees of its sentence's room."""

    decoder: FixedDecoder
    buffers: Buffers
    lease: Lease
    grid: Grid
    """Of as many sentences and places as the buffers have; rows stand at some of them."""
    visible: Bool[Tensor, "bn room"]
    seen: int = 0
    steps: int = 0

    def select(self, rows: Int[Tensor, "m"]) -> FixedState:
        return self.decoder.select(self, rows.cpu().numpy())


class FixedDecoder:
    """Takes a decoder's steps. `body` computes the logits [bn v] of all places of some buffers from what is in them;
    `positions` gives the vectors of the first p positions."""

    def __init__(self, body: Callable[[Buffers], Tensor], positions: Callable[[int], Tensor]) -> None:
        self._body, self._positions = body, positions
        self._kept: OrderedDict[Shape, Buffers] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, memory: Sequence[KeyValues], mask: Bool[Tensor, "b 1 1 s"] | None) -> FixedState:
        """Before the first token: one row a sentence."""
        b, _, s, _ = memory[0].keys.shape
        shape = Shape(_power(b), 1, -(-s // SOURCE) * SOURCE, ROOM)
        buffers, lease = self._take(shape, memory)
        buffers.remember(memory, mask)
        return FixedState(self, buffers, lease, Grid(shape.b, 1, np.arange(b)), _nothing(shape, buffers.visible))

    def step(self, previous: Int[Tensor, "r"], state: FixedState) -> tuple[Float[Tensor, "r v"], FixedState]:
        """One token further."""
        n, end = state.grid.width, state.seen + state.grid.width
        shape = state.buffers.shape
        if state.buffers.written != state.seen or end > shape.room:
            state = self._moved(state, np.arange(shape.b), n, max(shape.room, _power(end)))
        buffers, grid = state.buffers, state.grid
        visible = state.visible.clone()
        own = torch.eye(n, dtype=torch.bool, device=visible.device)
        visible[:, state.seen : end] = own.repeat(grid.sentences, 1)
        # Threads share the buffers' recording, and its output until that is copied.
        with self._lock:
            buffers.visible.copy_(visible.view_as(buffers.visible))
            buffers.previous.copy_(grid.spread(previous))
            buffers.position.fill_(state.steps)
            buffers.slots.copy_(torch.arange(state.seen, end))
            if buffers.replay is None:
                buffers.replay = replayable(lambda: self._body(buffers), visible.device)
            logits = buffers.replay().index_select(0, torch.from_numpy(grid.places).to(visible.device))
            buffers.written = end
        return logits, replace(state, visible=visible, seen=end, steps=state.steps + 1)

    def select(self, state: FixedState, rows: Int[np.ndarray, "m"]) -> FixedState:
        """Rows that go on. The shape stays, unless a sentence has more rows than places, or half of them are gone."""
        n, taken = state.grid.width, state.grid.places[rows]
        live, index, counts = np.unique(taken // n, return_inverse=True, return_counts=True)
        width = max(n, int(counts.max(initial=1)))
        state = replace(state, grid=replace(state.grid, places=taken))
        if width > n or _power(len(live)) < state.grid.sentences:
            state = self._moved(state, live, width, max(state.buffers.shape.room, ROOM * _power(width)))
            taken = state.grid.places
        places = taken // width * width + ranks(index, counts)
        came_from = np.arange(len(state.visible))
        came_from[places] = taken
        visible = state.visible.index_select(0, torch.from_numpy(came_from).to(state.visible.device))
        return replace(state, grid=replace(state.grid, places=places), visible=visible)

    def _moved(self, state: FixedState, sentences: Int[np.ndarray, "m"], n: int, room: int) -> FixedState:
        """A state whose rows are all of some sentences, in buffers that have only those, in their order."""
        old = state.buffers
        shape = Shape(_power(len(sentences)), n, old.shape.s, room)
        buffers, lease = self._take(shape, old.memory)
        index = torch.from_numpy(sentences).to(state.visible.device)
        buffers.take_over(old, index, state.seen)
        visible = _nothing(shape, buffers.visible).view(shape.b, n, room)
        before = state.visible.view(old.shape.b, old.shape.n, -1).index_select(0, index)
        visible[: len(sentences), : old.shape.n, : state.seen] = before[:, :, : state.seen]
        sentence, place = np.divmod(state.grid.places, old.shape.n)
        grid = Grid(shape.b, n, np.searchsorted(sentences, sentence) * n + place)
        return replace(state, buffers=buffers, lease=lease, grid=grid, visible=visible.flatten(0, 1))

    def _take(self, shape: Shape, like: Sequence[KeyValues]) -> tuple[Buffers, Lease]:
        """Buffers of a shape that no living state uses."""
        lease = Lease()
        with self._lock:
            buffers = self._kept.pop(shape, None)
            if buffers is None or buffers.lease() is not None or buffers.memory[0].keys.dtype != like[0].keys.dtype:
                # What is made under inference mode could not be written outside of it.
                with torch.inference_mode(False), torch.no_grad():
                    buffers = Buffers(shape, like, self._positions(shape.room))
            buffers.lease, buffers.written = weakref.ref(lease), 0
            self._kept[shape] = buffers
            while sum(kept.bytes for kept in self._kept.values()) > KEPT and len(self._kept) > 1:
                self._kept.popitem(last=False)
        return buffers, lease


def _nothing(shape: Shape, like: Tensor) -> Bool[Tensor, "bn room"]:
    return torch.zeros(shape.b * shape.n, shape.room, dtype=torch.bool, device=like.device)


def _power(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << (count - 1).bit_length()
