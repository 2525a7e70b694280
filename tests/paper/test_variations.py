"""The parts that the paper's Table 3 and the article's counter-examples exchange, and how weights start."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from transduce.errors import ConfigError
from transduce.layers.attention import MultiHeadAttention
from transduce.layers.embedding import Embedding
from transduce.layers.feed_forward import FeedForward
from transduce.layers.position import ScalarPositions
from transduce.layers.residual import Norm, Residual
from transduce.models.transformer import TransformerConfig


def normalised(x: Tensor) -> Tensor:
    """Mean 0 and variance 1 over the last axis."""
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("norm", ["post", "pre", "none"])
def test_where_the_norm_and_the_addition_stand(norm: Norm, residual: bool) -> None:
    x = torch.randn(3, 7, 19)
    found = Residual(19, dropout=0.0, norm=norm, residual=residual)(x, torch.sin)
    y = torch.sin(normalised(x) if norm == "pre" else x) + (x if residual else 0)
    torch.testing.assert_close(found, normalised(y) if norm == "post" else y)


def test_gelu_and_swiglu_in_place_of_relu() -> None:
    x = torch.randn(3, 7, 19)
    gelu, swiglu = FeedForward(19, 29, activation="gelu"), FeedForward(19, 29, activation="swiglu")
    assert gelu.W_3 is None and swiglu.W_3 is not None
    inner = gelu.W_1(x)
    phi = 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
    torch.testing.assert_close(gelu(x), gelu.W_2(inner * phi))
    inner = swiglu.W_1(x)
    torch.testing.assert_close(swiglu(x), swiglu.W_2(inner * torch.sigmoid(inner) * swiglu.W_3(x)))


def test_scalar_positions_count_from_1_in_one_dimension() -> None:
    added = ScalarPositions()(torch.zeros(3, 5, 19), start=2)
    assert added[0, :, 0].tolist() == [3, 4, 5, 6, 7]
    assert (added[:, :, 1:] == 0).all()


def test_heads_must_divide_the_width_unless_their_widths_are_given() -> None:
    with pytest.raises(ConfigError, match=r"heads = 3 does not divide d_model = 19"):
        MultiHeadAttention(19, heads=3)
    attention = MultiHeadAttention(19, heads=3, d_k=5, d_v=13)
    assert (attention.W_q.shape, attention.W_v.shape, attention.W_o.weight.shape) == ((15, 19), (39, 19), (19, 39))
    assert attention(torch.randn(2, 7, 19)).shape == (2, 7, 19)


def test_a_shared_matrix_needs_one_vocabulary() -> None:
    with pytest.raises(ConfigError, match=r"37 entries and the target 41"):
        TransformerConfig(d_model=26, heads=2).build(37, 41)


def test_matrices_start_from_glorot_each_on_its_own_and_biases_from_0() -> None:
    attention, ffn = MultiHeadAttention(256, heads=2, d_k=101, d_v=47), FeedForward(256, 1021)
    for matrix in (attention.W_q, attention.W_k, attention.W_v, attention.W_o.weight, ffn.W_1.weight, ffn.W_2.weight):
        bound = math.sqrt(6 / sum(matrix.shape))
        assert matrix.abs().max().item() == pytest.approx(bound, rel=0.01) and matrix.abs().max() <= bound
        assert matrix.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
    for layer in (attention.W_qkv, attention.W_o, ffn.W_1, ffn.W_2):
        assert (layer.bias == 0).all()


def test_embedded_tokens_start_with_unit_variance() -> None:
    vectors = Embedding(997, 256)(torch.arange(997)[None])
    assert vectors.shape == (1, 997, 256)
    assert vectors.std().item() == pytest.approx(1, rel=0.02)
