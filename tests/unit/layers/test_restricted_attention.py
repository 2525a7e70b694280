"""Restricted attention is attention under a band of a mask, without the work outside of it."""

from __future__ import annotations

import pytest
import torch

from transduce.layers.attention import attention_scores, attention_weights
from transduce.layers.restricted_attention import RestrictedAttention, restricted_attention


@pytest.mark.parametrize("length", [1, 2, 11])
@pytest.mark.parametrize("reach", [0, 1, 3])
def test_it_equals_attention_under_a_mask(length: int, reach: int) -> None:
    q, k, v = torch.randn(3, 2, length, 5), torch.randn(3, 2, length, 5), torch.randn(3, 2, length, 7)
    places = torch.arange(length)
    band = (places[:, None] - places).abs() <= reach
    expected = attention_weights(attention_scores(q, k, band)) @ v
    torch.testing.assert_close(restricted_attention(q, k, v, reach), expected, rtol=0, atol=1e-6)


def test_the_layer_hears_its_neighbours_and_no_one_else() -> None:
    layer, x = RestrictedAttention(26, 2, reach=2), torch.randn(1, 11, 26, requires_grad=True)
    (gradient,) = torch.autograd.grad(layer(x)[:, 5].sum(), x)
    assert gradient[0].abs().sum(-1).nonzero()[:, 0].tolist() == [3, 4, 5, 6, 7]
