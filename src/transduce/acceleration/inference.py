"""The fastest arithmetic that this machine has for a model that will only be used."""

from __future__ import annotations

from typing import Literal, Protocol, TypeGuard, get_args, runtime_checkable

from torch import nn

from transduce.acceleration import int8, native, onednn, products
from transduce.acceleration.linear import prepare
from transduce.acceleration.structures import Form
from transduce.devices import Compute

Quantize = Literal["none", "int8"]
FORMS: tuple[Quantize, ...] = get_args(Quantize)


@runtime_checkable
class Native(Protocol):
    """A model that native code can compute."""

    def use_native_code(self, form: Form) -> None: ...


@runtime_checkable
class Graphed(Protocol):
    """A model whose decoding steps can be recorded as CUDA graphs."""

    def use_graphs(self) -> None: ...


def has_native_code(model: nn.Module, compute: Compute) -> TypeGuard[Native]:
    """Whether native code can compute this model on this machine."""
    return compute.exact_on_cpu and isinstance(model, Native) and native.load() is not None


def accelerate(model: nn.Module, compute: Compute, quantize: Quantize, *, native_code: bool = True) -> str:
    """Prepare a model's products, and its native code where it has any; returns in words how they are computed now.

    Without `native_code` every model is computed alike, so that speeds can be compared.

    float32 results stay what they were, up to the order of sums. int8 is approximate, and needs a CPU for which its
    code can be built; elsewhere the model stays as it is.
    """
    if not compute.exact_on_cpu:
        how = f"{compute.precision} on {compute.device.type}"
        if native_code and compute.device.type == "cuda" and isinstance(model, Graphed):
            model.use_graphs()
            how += ", steps by CUDA graphs"
        return how + (": int8 is for fp32 on a CPU" if quantize == "int8" else "")
    form: Form = "int8" if quantize == "int8" and int8.available() else "float32"
    how = "PyTorch alone"
    if form == "int8":
        prepare(model, int8.Int8)
        how = f"native code ({int8.path()}) for products"
    elif onednn.available():
        prepare(model, onednn.Packed)
        how = "products by oneDNN"
    if native_code and has_native_code(model, compute):
        model.use_native_code(form)
        how = f"native code ({native.instructions() if form == 'float32' else int8.path()})"
    if form == "int8":
        return f"int8, {how}"
    return f"fp32, {how}" + (": int8 needs a C compiler (cc) and an x86-64 with AVX2" if quantize == "int8" else "")


def training_arithmetic(compute: Compute) -> str:
    """What computes while a model trains, in words; all of it within rounding of PyTorch's."""
    instructions = native.instructions() if compute.exact_on_cpu else ""
    if not instructions:
        return "PyTorch alone"
    return f"{'products, ' if products.pays(compute) else ''}attention and loss in native code ({instructions})"
