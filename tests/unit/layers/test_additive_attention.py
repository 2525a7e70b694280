"""Attention of one decoder state to the states of a source: its scores by hand."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import torch

from transduce.layers.additive_attention import Score, SourceAttention, additive_scores, dot_scores
from transduce.layers.tap import record


def test_additive_scores_by_hand() -> None:
    q, keys, v = torch.tensor([[[0.5, -1.0]]]), torch.tensor([[[0.25, 1.0], [-0.5, 0.0]]]), torch.tensor([2.0, 3.0])
    expected = [2 * math.tanh(0.75), 3 * math.tanh(-1.0)]
    assert additive_scores(q, keys, v).flatten().tolist() == pytest.approx(expected)


def test_dot_scores_by_hand_are_not_scaled() -> None:
    q, keys = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 4.0], [-1.0, 0.5], [0.0, 0.0]]])
    assert dot_scores(q, keys).flatten().tolist() == [11, 0, 0]


def test_the_general_form_has_a_matrix_between_state_and_source() -> None:
    attention = SourceAttention("general", 5)
    s, h = torch.randn(2, 3, 5), torch.randn(2, 7, 5)
    expected = torch.einsum("btd,de,bse->bts", s, attention.W_key.weight, h).softmax(-1) @ h
    torch.testing.assert_close(attention(s, attention.keys(h), h), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("score", get_args(Score))
def test_hidden_positions_weigh_nothing_and_a_hidden_row_has_no_context(score: Score) -> None:
    attention = SourceAttention(score, 5, name="here")
    s, h = torch.randn(3, 2, 5), torch.randn(3, 7, 5, requires_grad=True)
    lengths = torch.tensor([7, 3, 0])
    mask = (torch.arange(7) < lengths[:, None])[:, None, None]
    seen = {}
    with record(lambda name, value: seen.setdefault(name, value)):
        context = attention(s, attention.keys(h), h, mask)
    assert list(seen) == [f"here.{part}" for part in ("queries", "keys", "values", "scores", "weights", "context")]
    weights = seen["here.weights"]
    assert weights.shape == (3, 1, 2, 7)
    assert (weights[1, ..., 3:] == 0).all() and (weights[2] == 0).all() and (context[2] == 0).all()
    assert weights[:2].sum(-1).flatten().tolist() == pytest.approx([1] * 4)
    context.sum().backward()
    assert h.grad is not None and h.grad.isfinite().all() and (h.grad[2] == 0).all()
    alone = attention(s[1:2], attention.keys(h[1:2, :3]), h[1:2, :3])
    torch.testing.assert_close(context[1:2], alone, rtol=0, atol=1e-6)
