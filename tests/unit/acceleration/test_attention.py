"""Attention of training in native code against PyTorch's fused one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from transduce.acceleration import attention, native
from transduce.acceleration.attention import fused_attention

pytestmark = pytest.mark.skipif(native.load() is None, reason="no C compiler")


def example(batch: int, heads: int, queries: int, keys: int, d_k: int, d_v: int) -> tuple[Tensor, Tensor, Tensor]:
    """Views of wider tensors, as the layers make them."""
    x, y = torch.randn(batch, queries, heads * d_k + 3), torch.randn(batch, keys, heads * (d_k + d_v))
    parts = (x[..., 3:], y[..., : heads * d_k], y[..., heads * d_k :])
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2).requires_grad_() for part in parts)
    return q, k, v


def with_gradients(made: Tensor, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    upstream = torch.randn(made.shape, generator=torch.Generator().manual_seed(3))
    return [made, *torch.autograd.grad(made, inputs, upstream)]


@settings(deadline=None)
@given(
    batch=st.integers(1, 3), heads=st.integers(1, 3), queries=st.integers(1, 40), keys=st.integers(1, 70),
    d_k=st.integers(1, 40), d_v=st.integers(1, 40), kind=st.sampled_from(["all", "causal", "mask"]),
)  # fmt: skip
def test_any_shapes(batch: int, heads: int, queries: int, keys: int, d_k: int, d_v: int, kind: str) -> None:
    if kind == "causal":
        keys = queries
    inputs = example(batch, heads, queries, keys, d_k, d_v)
    mask = torch.rand(batch, 1, 1, keys) < 0.6 if kind == "mask" else None
    if mask is not None:
        mask[..., -1] |= ~mask.any(-1)
    assert attention._fits(*inputs, mask, kind == "causal", 0.0)
    found = with_gradients(fused_attention(*inputs, mask, causal=kind == "causal", dropout=0.0), inputs)
    plain = F.scaled_dot_product_attention(*inputs, mask, is_causal=kind == "causal")
    for one, other in zip(found, with_gradients(plain, inputs), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_where_no_key_is_seen_nothing_comes_and_nothing_is_learned() -> None:
    inputs = example(2, 2, 3, 5, 4, 6)
    mask = torch.tensor([[True] * 5, [False] * 5])[:, None, None]
    made, *gradients = with_gradients(fused_attention(*inputs, mask, causal=False, dropout=0.0), inputs)
    assert not made[1].any() and made[0].all()
    assert all(not gradient[1].any() and gradient[0].all() for gradient in gradients)


def test_threads_take_sentences_and_change_nothing(monkeypatch: pytest.MonkeyPatch, shared: list[int]) -> None:
    inputs = example(7, 2, 9, 11, 8, 8)
    expected = with_gradients(fused_attention(*inputs, None, causal=False, dropout=0.0), inputs)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(attention, "_OF_A_THREAD", 10)
    found = with_gradients(fused_attention(*inputs, None, causal=False, dropout=0.0), inputs)
    assert all(map(torch.equal, found, expected)) and shared == [3, 3]


@pytest.mark.parametrize(
    "changed",
    [
        {"dropout": 0.1},
        {"mask": torch.ones(2, 1, 4, 5, dtype=torch.bool)},
        {"causal": True},
        {"dtype": torch.float64},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_native_code_has_not_is_pytorchs(changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(attention, "_run", forbidden)
    dtype = changed.pop("dtype", torch.float32)
    inputs = tuple(x.detach().to(dtype) for x in example(2, 2, 4, 5, 3, 3))
    with torch.enable_grad():
        options = {"mask": None, "causal": False, "dropout": 0.0, **changed}
        fused_attention(*(x.requires_grad_() for x in inputs), **options)  # type: ignore[misc]
    if not changed:
        return
    with torch.no_grad():
        fused_attention(*example(2, 2, 4, 5, 3, 3), None, causal=False, dropout=0.0)
