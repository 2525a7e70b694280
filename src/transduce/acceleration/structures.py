"""What native code is told of a Transformer: the structures of `transformer.c`, and weights arranged for it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.acceleration import native
from transduce.acceleration.int8 import Int8

Form = Literal["float32", "int8"]

ROWS_OF_A_THREAD = 16
"""Fewest for which a thread of their own pays."""
_NORMS = {"none": 0, "pre": 1, "post": 2}
_ACTIVATIONS = {"relu": 0, "gelu": 1, "swiglu": 2}


@dataclass(frozen=True, slots=True)
class LayerParts:
    """A layer; W^Q, W^K and W^V of self-attention are one map."""

    self_in: nn.Linear
    self_out: nn.Linear
    inner: nn.Linear
    gate: nn.Linear | None
    outer: nn.Linear
    norms: tuple[nn.Module, nn.Module, nn.Module]
    """Of self-attention, cross-attention (an encoder: anything), feed-forward."""
    cross_in: tuple[Float[Tensor, "hk d"], Float[Tensor, "hk"]] | None = None
    """W^Q of cross-attention alone."""
    cross_out: nn.Linear | None = None


@dataclass(frozen=True, slots=True)
class StackParts:
    """An encoder or a decoder."""

    layers: tuple[LayerParts, ...]
    embedding: Float[Tensor, "v d"]
    scale: float
    """What an embedding is multiplied by."""
    positions: Callable[[int], Float[Tensor, "t d"]]
    """The vectors that are added at the first t positions; may raise where there are not so many."""
    last: nn.Module
    norm: str
    residual: bool
    activation: str
    heads: int
    d_k: int
    d_v: int
    projection: Float[Tensor, "v d"] | None = None
    """States to logits, of a decoder."""


class Affine(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weights", "scales", "totals", "bias")),
        *((name, ctypes.c_int64) for name in ("inputs", "outputs")),
    )


class Norm(ctypes.Structure):
    _fields_ = (("gain", ctypes.c_void_p), ("bias", ctypes.c_void_p), ("epsilon", ctypes.c_float))


class Layer(ctypes.Structure):
    _fields_ = (
        *((name, Affine) for name in ("self_in", "self_out", "cross_in", "cross_out", "inner", "gate", "outer")),
        ("norms", Norm * 3),
    )


class Stack(ctypes.Structure):
    _fields_ = (
        ("embedding", ctypes.c_void_p), ("layers", ctypes.c_void_p), ("projection", Affine), ("last", Norm),
        ("scale", ctypes.c_float), *((name, ctypes.c_int32) for name in ("norm_place", "residual", "activation")),
        *((name, ctypes.c_int64) for name in ("depth", "width", "heads", "d_k", "d_v", "d_ff")),
    )  # fmt: skip


class Arranged:
    """The weights of a stack as native code reads them."""

    def __init__(self, parts: StackParts, form: Form) -> None:
        library = native.load()
        assert library is not None
        self.library = library
        self._parts, self._form = parts, form
        self._kept: list[object] = []
        """What the structures point to."""
        self._positions = torch.empty(0)
        self.width = parts.embedding.shape[1]
        layers = (Layer * len(parts.layers))(*map(self._layer, parts.layers))
        self._kept.append(layers)
        self.stack = Stack(
            embedding=self._keep(parts.embedding), layers=ctypes.addressof(layers),
            projection=Affine() if parts.projection is None else self._affine(parts.projection, None),
            last=self._norm(parts.last), scale=parts.scale, norm_place=_NORMS[parts.norm], residual=parts.residual,
            activation=_ACTIVATIONS[parts.activation], depth=len(parts.layers), width=self.width, heads=parts.heads,
            d_k=parts.d_k, d_v=parts.d_v, d_ff=parts.layers[0].inner.out_features,
        )  # fmt: skip

    def positions(self, count: int) -> Float[Tensor, "t d"]:
        """At least the first `count`; made ahead of need, unless there are no more."""
        if count > len(self._positions):
            try:
                found = self._parts.positions(2 * count + 62)
            except ValueError:
                found = self._parts.positions(count)
            self._positions = found.contiguous()
        return self._positions

    def _keep(self, tensor: Tensor) -> int:
        """Its address; it stays."""
        kept = tensor.detach().float().contiguous()
        self._kept.append(kept)
        return kept.data_ptr()

    def _layer(self, parts: LayerParts) -> Layer:
        names = ("self_in", "self_out", "cross_out", "inner", "gate", "outer")
        maps = {name: getattr(parts, name) for name in names if getattr(parts, name) is not None}
        arranged = {name: self._affine(map_.weight, map_.bias) for name, map_ in maps.items()}
        if parts.cross_in is not None:
            arranged["cross_in"] = self._affine(*parts.cross_in)
        return Layer(norms=(Norm * 3)(*map(self._norm, parts.norms)), **arranged)

    def _norm(self, norm: nn.Module) -> Norm:
        if not isinstance(norm, nn.LayerNorm):
            return Norm()
        return Norm(self._keep(norm.weight), self._keep(norm.bias), norm.eps)

    def _affine(self, weight: Float[Tensor, "v k"], bias: Float[Tensor, "v"] | None) -> Affine:
        outputs, inputs = weight.shape
        if self._form == "int8":
            kernel = Int8(weight.detach(), None if bias is None else bias.detach())
            self._kept.append(kernel)
            return Affine(*kernel.addresses, inputs, outputs)
        packed = torch.empty(self.library.float32_weight_floats(outputs, inputs))
        plain = weight.detach().float().contiguous()
        self.library.float32_pack(plain.data_ptr(), outputs, inputs, packed.data_ptr())
        self._kept.append(packed)
        return Affine(packed.data_ptr(), None, None, None if bias is None else self._keep(bias), inputs, outputs)
