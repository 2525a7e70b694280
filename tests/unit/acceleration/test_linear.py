"""Prepared products against plain ones, for shapes that fill no block and rows that share no batch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.acceleration import int8, native, onednn
from transduce.acceleration.linear import Maker, linear, prepare

needs_onednn = pytest.mark.skipif(not onednn.available(), reason="this PyTorch has no oneDNN")
needs_int8 = pytest.mark.skipif(not int8.available(), reason="no C compiler, or no AVX2")

SHAPES = [(1, 3, 5), (2, 257, 769), (7, 13, 19), (13, 256, 31), (67, 101, 10_007)]
"""Rows, inputs and outputs."""


@pytest.fixture(autouse=True)
def _without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def example(rows: int, inputs: int, outputs: int) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)


@needs_onednn
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("biased", [True, False])
def test_onednn_equals_the_plain_product(shape: tuple[int, int, int], biased: bool) -> None:
    x, weight, bias = example(*shape)
    expected = F.linear(x, weight, bias if biased else None)
    found = onednn.Packed(weight, bias if biased else None)(x)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 * float(expected.abs().max()))


Steps = tuple[int, int]
"""To which a weight is rounded on either side of 0, and a row from its least to its greatest value."""


@pytest.fixture(params=["", " -mno-avx512f -mno-avxvnni"], ids=["this processor's", "AVX2"])
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    """With the instructions that this processor has, and with fewer."""
    if request.param:
        monkeypatch.setenv("CC", "cc" + request.param)
    native.load.cache_clear()
    if not int8.available():
        pytest.skip("AVX2 and a C compiler")
    yield (63, 126) if int8.path() == "AVX2" else (127, 254)
    native.load.cache_clear()


def by_hand(x: Tensor, weight: Tensor, bias: Tensor | None, steps: Steps) -> Tensor:
    """What `int8.c` computes, in double precision: both sides rounded to steps of their row."""
    ends = (x.double().clamp(max=0).amin(1, keepdim=True), x.double().clamp(min=0).amax(1, keepdim=True))
    step, weight_step = (ends[1] - ends[0]) / steps[1], weight.double().abs().amax(1, keepdim=True) / steps[0]
    y = (x / step).round() @ (weight / weight_step).round().T * (step * weight_step.T)
    return (y if bias is None else y + bias).float()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("positive", [True, False])
def test_int8_is_exact_in_integers_and_close_to_float(
    shape: tuple[int, int, int], biased: bool, positive: bool, steps: Steps
) -> None:
    x, weight, bias = example(*shape)
    x, given = x.relu() if positive else x, bias if biased else None
    found = int8.Int8(weight, given)(x)
    plain = F.linear(x, weight, given)
    # A value half-way between two steps may be rounded either way.
    one_step = float((x.amax(1) - x.amin(1)).max() / steps[1] * weight.abs().max())
    torch.testing.assert_close(found, by_hand(x, weight, given, steps), rtol=0, atol=1.01 * one_step)
    assert float((found - plain).norm() / plain.norm()) < 0.02


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("value", [1.0, -1.0, 3e-30, 1e30])
def test_the_largest_of_all_sums_is_exact(sign: float, value: float) -> None:
    """Nothing overflows where every input and every weight has its largest value."""
    found = int8.Int8(torch.full((37, 1024), sign), None)(torch.full((2, 1024), value))
    torch.testing.assert_close(found, torch.full((2, 37), sign * value * 1024), rtol=1e-6, atol=0)


@pytest.mark.parametrize("below", [0.5, 1.5, 62.5, 63.0, 63.5, 125.5])
def test_both_ends_of_a_row_fit_where_both_are_rounded(below: float, steps: Steps) -> None:
    above = steps[1] - below
    x = torch.tensor([[-below] * 50 + [above] * 50])
    found = int8.Int8(torch.ones(3, 100), None)(x)
    assert float((found - x.sum()).abs().max()) <= 50 + 1e-3 * float(x.sum().abs())


@needs_int8
def test_int8_rows_have_scales_of_their_own() -> None:
    x, weight, bias = example(7, 29, 37)
    x[3] *= 1e6
    x[5] *= 1e-6
    kernel = int8.Int8(weight, bias)
    together = kernel(x)
    for i in range(len(x)):
        assert torch.equal(kernel(x[i : i + 1])[0], together[i])
    assert torch.equal(kernel(x.view(7, 1, 29)), together.view(7, 1, 37))
    assert torch.equal(kernel(x.t().contiguous().t()), together)


@needs_int8
def test_int8_of_nothing_of_zeros_and_of_no_numbers() -> None:
    _, weight, bias = example(1, 29, 37)
    kernel = int8.Int8(weight, bias)
    assert kernel(torch.empty(0, 29)).shape == (0, 37)
    assert torch.equal(kernel(torch.zeros(2, 29)), bias.expand(2, 37))
    for bad in (torch.nan, torch.inf):
        x = torch.randn(3, 29)
        x[1, 11] = bad
        assert kernel(x).isnan().all(1).tolist() == [False, True, False]
    weight[5] = 0.0
    assert int8.Int8(weight, None)(torch.randn(2, 29))[:, 5].tolist() == [0.0, 0.0]


def doubled(weight: Tensor, bias: Tensor | None) -> object:
    """A kernel that is easy to recognise."""
    return lambda x: 2 * F.linear(x, weight, bias)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 5)
        self.projection = nn.Parameter(torch.randn(7, 3))


def test_a_prepared_model_uses_its_kernels_whole_and_in_parts() -> None:
    model, x = Model(), torch.randn(2, 3)
    layer, projection = model.layer(x), F.linear(x, model.projection)
    make: Maker = doubled  # type: ignore[assignment]
    prepare(model, make)
    torch.testing.assert_close(model.layer(x), 2 * layer)
    torch.testing.assert_close(linear(x, model.projection), 2 * projection)
    part = linear(x, model.layer.weight, model.layer.bias, slice(2, None))
    torch.testing.assert_close(part, 2 * layer[:, 2:])
    torch.testing.assert_close(linear(x, model.projection[:5]), projection[:, :5])
    # Where gradients are wanted, they are those of the plain product.
    with torch.enable_grad():
        model.layer(torch.ones(2, 3)).sum().backward()
    assert model.layer.weight.grad is not None and (model.layer.weight.grad == 2).all()
    assert list(model.state_dict()) == ["projection", "layer.weight", "layer.bias"]


def test_without_a_compiler_there_is_no_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert native.load.__wrapped__() is None


@needs_int8
def test_the_code_is_built_once_and_a_folder_that_others_can_write_to_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    assert native.load.__wrapped__() is not None
    (built,) = (folder / "transduce").iterdir()
    made = built.stat().st_mtime_ns
    assert native.load.__wrapped__() is not None
    assert built.stat().st_mtime_ns == made
    (folder / "transduce").chmod(0o777)
    assert native.load.__wrapped__() is None
