"""Native dropout and the plain one: the same draws, the same numbers, the same gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from transduce.acceleration import dropout as module
from transduce.acceleration import native
from transduce.acceleration.dropout import masked, plain_masked
from transduce.layers.dropout import dropout

pytestmark = pytest.mark.skipif(native.load() is None, reason="no C compiler")


def draws(count: int) -> Tensor:
    return torch.randint(-(2**15), 2**15, (count,), dtype=torch.int16)


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5, 11), (129, 64), (0, 4)])
@pytest.mark.parametrize(("least", "scale"), [(-26214, 1 / 0.9), (0, 2.0), (32767, 70.0), (-32768, 1.0)])
def test_the_numbers_are_the_plain_ones(shape: tuple[int, ...], least: int, scale: float) -> None:
    torch.manual_seed(len(shape))
    x, drawn = torch.randn(shape), draws(200 * 64)
    drawn[:3] = torch.tensor([least, max(least - 1, -(2**15)), 2**15 - 1])
    results = []
    for function in (plain_masked, masked):
        given = x.clone().requires_grad_()
        y = function(given, drawn, least, scale)
        # A gradient that lies in another order, as a product gives it.
        y.backward(torch.arange(float(x.numel())).view(tuple(reversed(shape))).permute(*reversed(range(len(shape)))))
        assert given.grad is not None
        results.append((y.detach(), given.grad))
    for plain, fused in zip(*results, strict=True):
        assert torch.equal(plain, fused)


def test_what_it_is_added_to() -> None:
    torch.manual_seed(5)
    drawn, upstream = draws(6400), torch.randn(64, 100)
    results = []
    for function in (plain_masked, masked):
        torch.manual_seed(6)
        x, onto = (torch.randn(64, 100, requires_grad=True) for _ in range(2))
        y = function(x, drawn, -100, 2.0, onto)
        y.backward(upstream)
        results.append((y.detach(), x.grad, onto.grad))
    for plain, fused in zip(*results, strict=True):
        assert plain is not None and fused is not None
        assert torch.allclose(plain, fused, rtol=1e-6, atol=1e-6)
    # Added to what is no parameter of anything, and to what lies in another order.
    fixed = torch.randn(100, 64).T
    assert torch.equal(masked(x, drawn, -100, 2.0, fixed), plain_masked(x, drawn, -100, 2.0, fixed))


def test_a_mask_is_a_byte_a_number() -> None:
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        masked(torch.ones(50, requires_grad=True), draws(50), 0, 2.0)
    assert [tensor.nbytes for tensor in kept] == [50]


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, shared: list[int]) -> None:
    x, drawn = torch.randn(1001), draws(1001)
    expected = masked(x, drawn, 100, 2.0)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(module, "_OF_A_THREAD", 100)
    assert torch.equal(masked(x, drawn, 100, 2.0), expected) and shared == [3]


def test_what_is_not_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native.load_for(torch.ones(3, 5)) is not None
    others = torch.ones(3, 5).T, torch.ones(3, dtype=torch.float64), torch.ones(3, device="meta")
    assert [native.load_for(x) for x in others] == [None, None, None]
    torch.manual_seed(1)
    native_made = dropout(torch.ones(3, 50), 0.4, training=True)
    monkeypatch.setattr(native, "load", lambda: None)
    assert native.load_for(torch.ones(3, 5)) is None
    torch.manual_seed(1)
    assert torch.equal(dropout(torch.ones(3, 50), 0.4, training=True), native_made)
