"""A Transformer's decoding step in native code (`transformer.c`), from the last tokens to the logits of the next.

The plain step is about a hundred operations, each of which PyTorch takes some microseconds to start; with few rows that
is most of the time. Here it is one call. Keys and values are written once and stay, as in `layers/grid.py`, the plain
twin; results agree with it to about 1e-5, or as int8 does. A row's result does not depend on what shares the batch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.acceleration.side_by_side import in_even_parts
from transduce.acceleration.structures import ROWS_OF_A_THREAD, Arranged, Form, StackParts

KeyValue = tuple[Float[Tensor, "b h s k"], Float[Tensor, "b h s v"]]
"""Views of one product [b s hk+hv]: what a source position has of all heads lies together."""


class _Past(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("keys", "values", "memory_keys", "memory_values"))


class _Situation(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("rows", "seen", "longest", "stride")),
        *((name, ctypes.c_void_p) for name in ("previous", "sentences", "lengths", "slots", "position", "pasts")),
    )


class Memory:
    """Keys and values of the source sentences, by layer."""

    def __init__(self, keys_values: Sequence[KeyValue], lengths: Int[Tensor, "b"]) -> None:
        self.lengths = lengths.to(torch.int64).contiguous()
        self.keys_values = tuple(keys_values)
        first = self.keys_values[0][0]
        self.longest, self.stride = first.shape[2], first.stride(2)


class Room:
    """Slots for keys and values of the tokens so far: a token of a hypothesis has one, in every layer."""

    def __init__(self, memory: Memory, keys: Float[Tensor, "n size hk"], values: Float[Tensor, "n size hv"]) -> None:
        self.memory, self.keys, self.values, self.used = memory, keys, values, 0
        self.pasts = (_Past * len(keys))(
            *(
                _Past(k.data_ptr(), v.data_ptr(), source_k.data_ptr(), source_v.data_ptr())
                for k, v, (source_k, source_v) in zip(keys, values, memory.keys_values, strict=True)
            )
        )

    @classmethod
    def empty(cls, memory: Memory, size: int) -> Room:
        layers = len(memory.keys_values)
        widths = (x.shape[1] * x.shape[3] for x in memory.keys_values[0])
        return cls(memory, *(torch.empty(layers, size, width) for width in widths))

    def take(self, slots: Int[np.ndarray, "r seen"]) -> tuple[Room, Int[np.ndarray, "r seen+1"]]:
        """A slot more for each row: here, or in a larger room that has only what the rows still see."""
        room, rows = self, len(slots)
        if self.used + rows > self.keys.shape[1]:
            live, index = np.unique(slots, return_inverse=True)
            room, slots = Room.empty(self.memory, 2 * (len(live) + rows) + 64), index.reshape(slots.shape)
            kept = torch.from_numpy(live)
            room.keys[:, : len(live)] = self.keys.index_select(1, kept)
            room.values[:, : len(live)] = self.values.index_select(1, kept)
            room.used = len(live)
        own = np.arange(room.used, room.used + rows)
        room.used += rows
        return room, np.concatenate([slots, own[:, None]], 1)


@dataclass(frozen=True, slots=True)
class NativeState:
    """Of each row, its sentence and the slots of its tokens so far."""

    room: Room
    sentences: Int[np.ndarray, "r"]
    slots: Int[np.ndarray, "r seen"]

    def select(self, rows: Int[Tensor, "n"]) -> NativeState:
        taken = rows.numpy()
        return NativeState(self.room, self.sentences[taken], self.slots[taken])


class NativeDecoder:
    """Takes the steps of a decoder."""

    def __init__(self, parts: StackParts, form: Form) -> None:
        assert parts.projection is not None
        self._vocabulary, self._arranged = len(parts.projection), Arranged(parts, form)

    def start(self, keys_values: Sequence[KeyValue], lengths: Int[Tensor, "b"]) -> NativeState:
        memory = Memory(keys_values, lengths)
        sentences = np.arange(len(lengths))
        room = Room.empty(memory, 16 * len(lengths) + 64)
        return NativeState(room, sentences, np.empty((len(lengths), 0), np.int64))

    def step(self, previous: Int[Tensor, "r"], state: NativeState) -> tuple[Float[Tensor, "r v"], NativeState]:
        """One token further."""
        rows, seen = state.slots.shape
        room, slots = state.room.take(state.slots)
        arranged, memory, previous = self._arranged, room.memory, previous.contiguous()
        logits = torch.empty(rows, self._vocabulary)
        situation = _Situation(
            rows, seen + 1, memory.longest, memory.stride, previous.data_ptr(), state.sentences.ctypes.data,
            memory.lengths.data_ptr(), slots.ctypes.data, arranged.positions(seen + 1)[seen].data_ptr(),
            ctypes.addressof(room.pasts),
        )  # fmt: skip
        at = ctypes.addressof(arranged.stack), ctypes.addressof(situation)

        def part(first: int, last: int) -> int:
            return arranged.library.decoder_step(*at, first, last, logits.data_ptr())

        in_even_parts(part, rows, rows // ROWS_OF_A_THREAD)
        return logits, NativeState(room, state.sentences, slots)
