"""A Transformer's decoding step in native code (`decoder.c`), from the last tokens to the logits of the next.

The plain step is about a hundred operations, each of which PyTorch takes some microseconds to start; with few rows that
is most of the time. Here it is one call. Keys and values are written once and stay, as in `layers/grid.py`, the plain
twin; results agree with it to about 1e-5, or as int8 does. A row's result does not depend on what shares the batch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.acceleration import native
from transduce.acceleration.int8 import Int8

Form = Literal["float32", "int8"]
KeyValue = tuple[Float[Tensor, "b h s k"], Float[Tensor, "b h s v"]]
"""Views of one product [b s hk+hv]: what a source position has of all heads lies together."""

_NORMS = {"none": 0, "pre": 1, "post": 2}
_ACTIVATIONS = {"relu": 0, "gelu": 1, "swiglu": 2}
_ROWS_OF_A_THREAD = 16
"""Fewest for which a thread of their own pays."""


@dataclass(frozen=True, slots=True)
class LayerParts:
    """A decoder layer: W^Q, W^K, W^V of self-attention in one, cross-attention's W^Q alone."""

    self_in: nn.Linear
    self_out: nn.Linear
    cross_in: tuple[Float[Tensor, "hk d"], Float[Tensor, "hk"]]
    cross_out: nn.Linear
    inner: nn.Linear
    gate: nn.Linear | None
    outer: nn.Linear
    norms: tuple[nn.Module, nn.Module, nn.Module]
    """Of self-attention, cross-attention, feed-forward."""


@dataclass(frozen=True, slots=True)
class DecoderParts:
    """What a step needs of a decoder."""

    layers: tuple[LayerParts, ...]
    embedding: Float[Tensor, "v d"]
    scale: float
    """What an embedding is multiplied by."""
    positions: Callable[[int], Float[Tensor, "t d"]]
    """The vectors that are added at the first t positions; may raise where there are not so many."""
    last: nn.Module
    projection: Float[Tensor, "v d"]
    norm: str
    residual: bool
    activation: str
    heads: int
    d_k: int
    d_v: int


class _Affine(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weights", "scales", "shifts", "bias")),
        *((name, ctypes.c_int64) for name in ("inputs", "outputs")),
    )


class _Norm(ctypes.Structure):
    _fields_ = (("gain", ctypes.c_void_p), ("bias", ctypes.c_void_p), ("epsilon", ctypes.c_float))


class _Layer(ctypes.Structure):
    _fields_ = (
        *((name, _Affine) for name in ("self_in", "self_out", "cross_in", "cross_out", "inner", "gate", "outer")),
        ("norms", _Norm * 3),
    )


class _Decoder(ctypes.Structure):
    _fields_ = (
        ("embedding", ctypes.c_void_p), ("layers", ctypes.c_void_p), ("projection", _Affine), ("last", _Norm),
        ("scale", ctypes.c_float), *((name, ctypes.c_int32) for name in ("norm_place", "residual", "activation")),
        *((name, ctypes.c_int64) for name in ("depth", "width", "heads", "d_k", "d_v", "d_ff")),
    )  # fmt: skip


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
    """A decoder's weights, arranged for `decoder.c`."""

    def __init__(self, parts: DecoderParts, form: Form) -> None:
        library = native.load()
        assert library is not None
        self._library, self._parts, self._form = library, parts, form
        self._kept: list[object] = []
        """What the structures point to."""
        self._positions = torch.empty(0)
        self._vocabulary, width = parts.projection.shape
        layers = (_Layer * len(parts.layers))(*map(self._layer, parts.layers))
        embedding = self._keep(parts.embedding)
        self._kept.append(layers)
        self._decoder = _Decoder(
            embedding=embedding, layers=ctypes.addressof(layers), projection=self._affine(parts.projection, None),
            last=self._norm(parts.last), scale=parts.scale, norm_place=_NORMS[parts.norm], residual=parts.residual,
            activation=_ACTIVATIONS[parts.activation], depth=len(parts.layers), width=width, heads=parts.heads,
            d_k=parts.d_k, d_v=parts.d_v, d_ff=parts.layers[0].inner.out_features,
        )  # fmt: skip

    def start(self, keys_values: Sequence[KeyValue], lengths: Int[Tensor, "b"]) -> NativeState:
        memory = Memory(keys_values, lengths)
        sentences = np.arange(len(lengths))
        room = Room.empty(memory, 16 * len(lengths) + 64)
        return NativeState(room, sentences, np.empty((len(lengths), 0), np.int64))

    def step(self, previous: Int[Tensor, "r"], state: NativeState) -> tuple[Float[Tensor, "r v"], NativeState]:
        """One token further."""
        rows, seen = state.slots.shape
        room, slots = state.room.take(state.slots)
        if seen >= len(self._positions):
            self._positions = self._first_positions(seen + 1).contiguous()
        memory, previous = room.memory, previous.contiguous()
        logits = torch.empty(rows, self._vocabulary)
        situation = _Situation(
            rows, seen + 1, memory.longest, memory.stride, previous.data_ptr(), state.sentences.ctypes.data,
            memory.lengths.data_ptr(), slots.ctypes.data, self._positions[seen].data_ptr(),
            ctypes.addressof(room.pasts),
        )  # fmt: skip
        self._run(situation, rows, logits)
        return logits, NativeState(room, state.sentences, slots)

    def _run(self, situation: _Situation, rows: int, logits: Tensor) -> None:
        at = ctypes.addressof(self._decoder), ctypes.addressof(situation)
        threads = min(torch.get_num_threads(), rows // _ROWS_OF_A_THREAD)

        def part(first: int, last: int) -> int:
            return self._library.decoder_step(*at, first, last, logits.data_ptr())

        if threads < 2:
            failed = part(0, rows)
        else:
            bounds = [rows * i // threads for i in range(threads + 1)]
            failed = any(_pool(threads).map(part, bounds[:-1], bounds[1:]))
        if failed:
            raise MemoryError

    def _first_positions(self, fewest: int) -> Float[Tensor, "t d"]:
        """Ahead of need, unless there are no more."""
        try:
            return self._parts.positions(2 * fewest + 62)
        except ValueError:
            return self._parts.positions(fewest)

    def _keep(self, *tensors: Tensor) -> int:
        """The address of the first; all of them stay."""
        kept = [tensor.detach().float().contiguous() for tensor in tensors]
        self._kept.extend(kept)
        return kept[0].data_ptr()

    def _layer(self, parts: LayerParts) -> _Layer:
        names = ("self_in", "self_out", "cross_out", "inner", "gate", "outer")
        maps = {name: getattr(parts, name) for name in names if getattr(parts, name) is not None}
        return _Layer(
            cross_in=self._affine(*parts.cross_in),
            norms=(_Norm * 3)(*map(self._norm, parts.norms)),
            **{name: self._affine(map_.weight, map_.bias) for name, map_ in maps.items()},
        )

    def _norm(self, norm: nn.Module) -> _Norm:
        if not isinstance(norm, nn.LayerNorm):
            return _Norm()
        return _Norm(self._keep(norm.weight), self._keep(norm.bias), norm.eps)

    def _affine(self, weight: Float[Tensor, "v k"], bias: Float[Tensor, "v"] | None) -> _Affine:
        outputs, inputs = weight.shape
        if self._form == "int8":
            kernel = Int8(weight.detach(), None if bias is None else bias.detach())
            self._kept.append(kernel)
            return _Affine(*kernel.addresses, inputs, outputs)
        packed = torch.empty(self._library.float32_weight_floats(outputs, inputs))
        plain = weight.detach().float().contiguous()
        self._library.float32_pack(plain.data_ptr(), outputs, inputs, packed.data_ptr())
        self._kept.append(packed)
        return _Affine(packed.data_ptr(), None, None, None if bias is None else self._keep(bias), inputs, outputs)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Native code holds no lock of Python's, so its threads run side by side."""
    return ThreadPoolExecutor(threads, thread_name_prefix="decoder")
