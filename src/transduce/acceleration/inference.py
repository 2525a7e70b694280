"""The fastest arithmetic that this machine has for a model that will only be used."""

from __future__ import annotations

from typing import Literal, get_args

from torch import nn

from transduce.acceleration import int8, onednn
from transduce.acceleration.linear import prepare
from transduce.devices import Compute

Quantize = Literal["none", "int8"]
FORMS: tuple[Quantize, ...] = get_args(Quantize)


def accelerate(model: nn.Module, compute: Compute, quantize: Quantize) -> str:
    """Prepare a model's products; returns in words how they are computed now.

    float32 results stay what they were, up to the order of sums. int8 is approximate, and needs a CPU for which its
    code can be built; elsewhere the model stays as it is.
    """
    if compute.device.type != "cpu" or compute.precision != "fp32":
        return f"{compute.precision} on {compute.device.type}" + (
            ": int8 is for fp32 on a CPU" if quantize == "int8" else ""
        )
    if quantize == "int8" and int8.load() is not None:
        prepare(model, int8.Int8)
        return f"int8 ({int8.path()})"
    if onednn.available():
        prepare(model, onednn.Packed)
    return "fp32" + (": int8 needs a C compiler (cc) and an x86-64 with AVX2" if quantize == "int8" else "")
