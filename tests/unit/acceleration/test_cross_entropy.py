"""The loss over the vocabulary in native code against the same in PyTorch's operations."""

from __future__ import annotations

import math
import platform
import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from transduce.acceleration import cross_entropy, native
from transduce.acceleration.cross_entropy import plain_cross_entropy
from transduce.text.specials import PAD

compiled = pytest.mark.skipif(native.load() is None, reason="no C compiler")


def test_native_code_is_built_where_there_is_a_compiler() -> None:
    """So that a fault in a C file doesn't skip the tests of all."""
    if platform.system() == "Windows" or not shutil.which("cc"):
        pytest.skip("no C compiler")
    assert native.load() is not None


def both(logits: Tensor, expected: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Loss and gradient of native code, then of PyTorch's operations."""
    return (
        *cross_entropy.cross_entropy(logits.clone(), expected, smoothing),
        *plain_cross_entropy(logits.clone(), expected, smoothing),
    )


@compiled
@settings(deadline=None)
@given(
    rows=st.integers(0, 9), size=st.integers(2, 70), smoothing=st.sampled_from([0.0, 0.1, 0.5]),
    scale=st.sampled_from([0.1, 3.0, 100.0]),
)  # fmt: skip
def test_any_sizes(rows: int, size: int, smoothing: float, scale: float) -> None:
    logits, expected = scale * torch.randn(rows, size), torch.randint(0, size, (rows,))
    loss, gradient, wanted, wanted_gradient = both(logits, expected, smoothing)
    torch.testing.assert_close(loss, wanted, rtol=2e-6, atol=1e-5)
    torch.testing.assert_close(gradient, wanted_gradient, rtol=1e-5, atol=1e-7)
    assert not gradient[expected == PAD].any()


@compiled
def test_threads_take_rows_and_change_nothing(monkeypatch: pytest.MonkeyPatch, shared: list[int]) -> None:
    logits, expected = torch.randn(29, 50), torch.randint(0, 50, (29,))
    alone = both(logits, expected, 0.1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(cross_entropy, "_ROWS_OF_A_THREAD", 9)
    assert all(map(torch.equal, both(logits, expected, 0.1), alone)) and shared == [3]


@compiled
def test_what_is_not_a_number_stays_so() -> None:
    logits, expected = torch.randn(3, 20), torch.tensor([4, 5, 6])
    logits[1, 7] = math.nan
    loss, gradient, *_ = both(logits, expected, 0.1)
    assert loss.isnan() and gradient[1].isnan().all() and gradient[[0, 2]].isfinite().all()


def test_without_native_code_pytorch_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "load", lambda: None)
    loss, gradient, wanted, wanted_gradient = both(torch.randn(5, 30), torch.tensor([1, 0, 7, 9, 0]), 0.1)
    assert torch.equal(loss, wanted) and torch.equal(gradient, wanted_gradient)
