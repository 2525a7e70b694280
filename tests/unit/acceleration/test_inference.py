"""A whole translator with prepared products, against the same one without, on the run that ships."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from transduce.acceleration import inference, int8, native, onednn, products
from transduce.demo.corpus import pairs
from transduce.demo.shipped import RUN
from transduce.devices import ComputeConfig
from transduce.errors import ConfigError
from transduce.run_folder import RunFolder
from transduce.translator import Translator

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

TEXTS = [pair.source for pair in pairs("test")][:43]


def load(quantize: inference.Quantize) -> Translator:
    return Translator.load(RUN, compute=ComputeConfig(device="cpu", threads=1), quantize=quantize)


def plain(monkeypatch: pytest.MonkeyPatch) -> Translator:
    with monkeypatch.context() as patch:
        patch.setattr(onednn, "available", lambda: False)
        patch.setattr(native, "load", lambda: None)
        return load("none")


@pytest.mark.parametrize("beam", [1, 4])
def test_float32_gives_the_same_strings(monkeypatch: pytest.MonkeyPatch, beam: int) -> None:
    # Everything prepared, however small, so that this small model does use it.
    monkeypatch.setattr(onednn, "_FEWEST", 0)
    found = load("none").translate(TEXTS, beam=beam)
    with monkeypatch.context() as patch:
        patch.setattr(native, "load", lambda: None)
        expected = plain(monkeypatch).translate(TEXTS, beam=beam)
    assert [t.text for t in found] == [t.text for t in expected]
    assert [t.score for t in found] == pytest.approx([t.score for t in expected], abs=1e-5)


@pytest.mark.skipif(not int8.available(), reason="no C compiler, or no AVX2")
def test_case_104_int8_is_close_and_batch_mates_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load("int8")
    assert translator.arithmetic == f"int8, native code ({int8.path()})"
    together = translator.translate(TEXTS)
    assert [t.text for t in together] == [translator.translate([text])[0].text for text in TEXTS]
    expected = plain(monkeypatch).translate(TEXTS)
    assert sum(a.text == b.text for a, b in zip(together, expected, strict=True)) >= 40
    assert [t.score for t in together] != [t.score for t in expected]


def test_where_int8_cannot_be_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "load", lambda: None)
    assert load("int8").arithmetic.endswith(": int8 needs a C compiler (cc) and an x86-64 with AVX2")
    told = inference.accelerate(torch.nn.Linear(3, 5), replace(load("none").compute, precision="bf16"), "int8")
    assert told == "bf16 on cpu: int8 is for fp32 on a CPU"
    with pytest.raises(ConfigError, match="quantize = 'int4': expected none or int8"):
        load("int4")  # type: ignore[arg-type]


def test_what_computes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that native code knows, one that it does not, and training; with and without a compiler."""
    compute = load("none").compute
    monkeypatch.setattr(onednn, "available", lambda: True)
    monkeypatch.setattr(products, "_slow_in_pytorch", lambda: True)
    other = torch.nn.Linear(3, 5)
    if native.load() is not None:
        made_of = native.instructions()
        assert load("none").arithmetic == f"fp32, native code ({made_of})"
        assert inference.accelerate(other, compute, "none") == "fp32, products by oneDNN"
        which = "products, " if made_of.startswith("AVX") else ""
        assert inference.training_arithmetic(compute) == f"{which}attention and loss in native code ({made_of})"
        monkeypatch.setattr(products, "_slow_in_pytorch", lambda: False)
        assert inference.training_arithmetic(compute) == f"attention and loss in native code ({made_of})"
    monkeypatch.setattr(native, "load", lambda: None)
    assert load("none").arithmetic == "fp32, products by oneDNN"
    assert inference.training_arithmetic(compute) == "PyTorch alone"
    monkeypatch.setattr(onednn, "available", lambda: False)
    assert inference.accelerate(other, compute, "none") == "fp32, PyTorch alone"


def test_native_code_can_be_left_out_so_that_models_are_computed_alike() -> None:
    fast, alike = load("none"), load("none")
    model = RunFolder.open(RUN).model().eval()
    inference.accelerate(model, alike.compute, "none", native_code=False)
    alike.model = alike.models[0] = model
    assert inference.has_native_code(model, alike.compute) == (native.load() is not None)
    assert not inference.has_native_code(torch.nn.Linear(3, 5), alike.compute)
    assert not inference.has_native_code(model, replace(alike.compute, precision="bf16"))
    assert model._native is None
    assert (fast.models[0]._native is None) == (native.load() is None)
    assert [t.text for t in fast.translate(TEXTS)] == [t.text for t in alike.translate(TEXTS)]
