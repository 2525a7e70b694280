"""Products of training in native code against PyTorch's own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from transduce.acceleration import native, products
from transduce.acceleration.products import native_products, product
from transduce.devices import Compute

pytestmark = pytest.mark.skipif(native.load() is None, reason="no C compiler")

CPU = Compute(torch.device("cpu"), "fp32", 1, 1)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, ...]]]:
    """Shapes of the products that native code makes, on whatever processor, however small."""
    shapes: list[tuple[int, ...]] = []

    def counted(a: Tensor, b: Tensor, *bias: Tensor, **onto: Tensor) -> Tensor:
        shapes.append((*a.shape, b.shape[1]))
        return product(a, b, *bias, **onto)

    monkeypatch.setattr(products, "product", counted)
    monkeypatch.setattr(products, "_slow_in_pytorch", lambda: True)
    monkeypatch.setattr(products, "_FEWEST", 1)
    if not products.pays(CPU):
        pytest.skip("this processor has no AVX")
    yield shapes


def matrix(rows: int, columns: int, order: str) -> Tensor:
    """Lying row by row, column by column, within a larger one, or with one row (or column) for all."""
    if order == "columns":
        return torch.randn(columns, rows).T
    if order == "part":
        return torch.randn(rows + 2, 2 * columns + 3)[1 : rows + 1, 1 : 2 * columns : 2]
    if order == "repeated":
        return torch.randn(1, columns).expand(rows, columns)
    return torch.randn(rows, columns)


orders = st.sampled_from(["rows", "columns", "part", "repeated"])


@settings(deadline=None)
@given(
    rows=st.integers(1, 45) | st.integers(500, 530) | st.integers(1025, 1040),
    inner=st.integers(1, 20) | st.integers(250, 530),
    columns=st.integers(1, 70),
    first=orders,
    second=orders,
    biased=st.booleans(),
)
def test_any_shapes_in_any_order(rows: int, inner: int, columns: int, first: str, second: str, biased: bool) -> None:
    a, b = matrix(rows, inner, first), matrix(inner, columns, second)
    bias = torch.randn(columns) if biased else None
    expected = a.double() @ b.double() + (0 if bias is None else bias.double())
    error = (product(a, b, bias) - expected).abs().max()
    assert error <= 2e-7 * (a.double().abs() @ b.double().abs()).max() * inner**0.5 + 1e-6


def test_a_product_is_added_where_it_belongs(made: list[tuple[int, ...]]) -> None:
    a, b, total = torch.randn(530, 600), torch.randn(600, 70), torch.randn(530, 70)
    expected = total.double() + a.double() @ b.double()
    place = total.data_ptr()
    with native_products(CPU):
        assert torch.addmm(total, a, b, out=total) is total
        assert made == [(530, 600, 70)] and total.data_ptr() == place
        torch.testing.assert_close(total.double(), expected, rtol=1e-5, atol=1e-4)
        # Native code has none of these.
        a, b = torch.ones(5, 6), torch.ones(6, 7)
        across, scaled, spread, other = (
            torch.ones(7, 5).T,
            torch.ones(5, 7),
            torch.ones(5, 7).double(),
            torch.ones(5, 7),
        )
        torch.addmm(across, a, b, out=across)
        torch.addmm(scaled, a, b, beta=0.5, alpha=2, out=scaled)
        torch.addmm(spread, a.double(), b.double(), out=spread)
        torch.addmm(torch.tensor([2.0]), a, b, out=other)
    assert len(made) == 1 and across.eq(7).all() and scaled.eq(12.5).all() and spread.eq(7).all() and other.eq(8).all()


def test_threads_take_rows_and_change_nothing(monkeypatch: pytest.MonkeyPatch, shared: list[int]) -> None:
    a, b = torch.randn(101, 300), torch.randn(300, 70)
    expected = product(a, b)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(products, "_OF_A_THREAD", 1000)
    assert torch.equal(product(a, b), expected) and shared == [3]


def gradients(model: nn.Module, x: Tensor) -> list[Tensor]:
    x = x.clone().requires_grad_()
    model.zero_grad()
    model(x).square().sum().backward()
    assert x.grad is not None
    return [x.grad, *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_model_and_its_gradients(made: list[tuple[int, ...]]) -> None:
    model = nn.Sequential(nn.Linear(24, 40), nn.ReLU(), nn.Linear(40, 24, bias=False))
    x = torch.randn(3, 7, 24)
    expected = gradients(model, x)
    assert made == []
    with native_products(CPU):
        found = gradients(model, x)
    assert sorted(made) == sorted([(21, 24, 40), (21, 40, 24), (21, 24, 40), (24, 21, 40), (21, 40, 24), (40, 21, 24)])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    made.clear()
    gradients(model, x)
    assert made == [], "PyTorch's own again"


def test_what_native_code_has_not_is_pytorchs(made: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, bias = torch.randn(5, 6), torch.randn(6, 7), torch.randn(7)
    with native_products(CPU):
        assert torch.equal(a.double() @ b.double(), torch.einsum("ij,jk->ik", a.double(), b.double()))
        wide = torch.addmm(torch.ones(5, 7), a, b, beta=0.5, alpha=2)
        whole = torch.ones(5, 6, dtype=torch.int64) @ torch.ones(6, 7, dtype=torch.int64)
        nothing = torch.ones(0, 6) @ b
        empty = torch.ones(5, 0) @ torch.ones(0, 7)
        assert made == []
        assert F.linear(a, b.T, bias).shape == (5, 7) and made == [(5, 6, 7)]
        monkeypatch.setattr(products, "_FEWEST", 1000)
        F.linear(a, b.T, bias)
        assert len(made) == 1
    torch.testing.assert_close(wide, 0.5 + 2 * (a @ b))
    assert whole.eq(6).all() and nothing.shape == (0, 7) and torch.equal(empty, torch.zeros(5, 7))


def test_matrices_that_do_not_fit_are_refused_as_ever(made: list[tuple[int, ...]]) -> None:
    a, b = torch.randn(50, 60), torch.randn(70, 8)
    with native_products(CPU):
        for wrong in (
            lambda: a @ b,
            lambda: F.linear(a, b, torch.randn(70)),
            lambda: torch.addmm(torch.randn(8), a, torch.randn(60, 7)),
            lambda: torch.addmm(total := torch.randn(50, 8), a, b, out=total),
            lambda: torch.addmm(total := torch.randn(50, 9), a, torch.randn(60, 8), out=total),
            lambda: torch.addmm(total := torch.randn(50, 8).double(), a, torch.randn(60, 8), out=total),
        ):
            with pytest.raises(RuntimeError):
                wrong()
    assert made == []


@pytest.mark.parametrize(
    "settings", [{"device": torch.device("cuda")}, {"precision": "bf16"}], ids=["another device", "bf16"]
)
def test_only_float32_on_a_cpu(made: list[tuple[int, ...]], settings: dict[str, Any]) -> None:
    compute = Compute(**{"device": torch.device("cpu"), "precision": "fp32", "threads": 1, "cores": 1, **settings})
    assert not products.pays(compute) and products.pays(CPU)
    with native_products(compute):
        torch.randn(9, 9) @ torch.randn(9, 9)
    assert made == []


def test_processors_that_pytorchs_library_was_made_for_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_slow_in_pytorch", lambda: False)
    assert not products.pays(CPU)


@pytest.mark.usefixtures("made")
def test_nothing_is_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with native_products(CPU):
            pass
