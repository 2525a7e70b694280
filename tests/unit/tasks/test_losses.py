"""The loss beside PyTorch's own, and its gradients."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from transduce.tasks import losses
from transduce.text.specials import PAD

N, D, V = 11, 5, 7


def table(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(N, D, generator=generator, dtype=dtype).requires_grad_()
    projection = torch.randn(V, D, generator=generator, dtype=dtype).requires_grad_()
    expected = torch.randint(1, V, (N,), generator=generator)
    expected[[2, 7]] = PAD
    return hidden, projection, expected


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 4, 100])
def test_loss_and_gradients_are_those_of_torch(smoothing: float, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(losses.CHUNK_BYTES, "cpu", 4 * V * rows)
    hidden, projection, expected = table(torch.float32)
    theirs = F.cross_entropy(
        hidden @ projection.T, expected, ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )
    wanted = torch.autograd.grad(theirs / 3, (hidden, projection))
    ours = losses.label_smoothed_cross_entropy(hidden, projection, expected, smoothing)
    found = torch.autograd.grad(ours / 3, (hidden, projection))
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def test_padding_adds_nothing_to_loss_or_gradients() -> None:
    hidden, projection, expected = table(torch.float32)
    real = expected != PAD
    whole = losses.label_smoothed_cross_entropy(hidden, projection, expected, 0.1)
    alone = losses.label_smoothed_cross_entropy(hidden[real], projection, expected[real], 0.1)
    torch.testing.assert_close(whole, alone)
    assert not torch.autograd.grad(whole, hidden)[0][~real].any()


def test_without_gradients_the_loss_is_the_same() -> None:
    hidden, projection, expected = table(torch.float32)
    learning = losses.label_smoothed_cross_entropy(hidden, projection, expected, 0.1)
    with torch.inference_mode():
        torch.testing.assert_close(
            losses.label_smoothed_cross_entropy(hidden, projection, expected, 0.1), learning.detach()
        )


def test_the_whole_table_of_logits_never_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(losses.CHUNK_BYTES, "cpu", 4 * V * 3)
    seen = []
    linear = F.linear
    monkeypatch.setattr(F, "linear", lambda x, w: seen.append(len(x)) or linear(x, w))
    hidden, projection, expected = table(torch.float32)
    losses.label_smoothed_cross_entropy(hidden, projection, expected, 0.1)
    assert seen == [3, 3, 3, 2]


def test_autocast_computes_in_bfloat16_and_learns_in_float32() -> None:
    hidden, projection, expected = table(torch.float32)
    plain = losses.label_smoothed_cross_entropy(hidden, projection, expected, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = losses.label_smoothed_cross_entropy(hidden, projection, expected, 0.1)
    gradients = torch.autograd.grad(mixed, (hidden, projection))
    assert [g.dtype for g in gradients] == [torch.float32] * 2
    assert mixed != plain
    torch.testing.assert_close(mixed, plain, rtol=0.02, atol=0)
