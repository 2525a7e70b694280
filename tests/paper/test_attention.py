"""Scaled dot-product attention: facts 4 to 6, 8 and 21."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from transduce.layers.attention import MultiHeadAttention, attention_scores, attention_weights
from transduce.layers.position import Positions
from transduce.layers.tap import record
from transduce.models.transformer import Transformer, TransformerConfig
from transduce.text.specials import BOS, RESERVED

TWO_DIGITS = 5e-3


def recorded(run: Callable[[], object]) -> dict[str, Tensor]:
    """Every tap of a forward pass, by name."""
    seen: dict[str, Tensor] = {}
    with record(lambda name, value: seen.setdefault(name, value)):
        run()
    return seen


def test_fact_4_the_articles_example_step_by_step() -> None:
    attention = MultiHeadAttention(4, heads=1)
    with torch.no_grad():
        attention.W_qkv.weight.copy_(torch.eye(4).repeat(3, 1))
    q = torch.tensor([[[1.0, 0, 1, 0]]])
    keys = torch.tensor([[[1.0, 0, 0, 2], [0, 2, 1, 0], [2, 0, 2, 0], [1, 0, 3, 0]]])
    seen = recorded(lambda: attention(q, keys))
    scores, weights = seen["attention.scores"].flatten(), seen["attention.weights"].flatten()
    assert (scores * math.sqrt(4)).tolist() == [1, 1, 4, 4]
    assert scores.tolist() == [0.5, 0.5, 2, 2]
    assert weights.tolist() == pytest.approx([0.09, 0.09, 0.41, 0.41], abs=TWO_DIGITS)


@pytest.mark.parametrize(("d_k", "deviation"), [(64, 8.0), (512, 22.6)])
def test_fact_5_scaling_brings_the_scores_deviation_back_to_1(d_k: int, deviation: float) -> None:
    scores = attention_scores(torch.randn(1009, d_k), torch.randn(997, d_k))
    assert scores.std().item() == pytest.approx(1, rel=0.02)
    assert (scores * math.sqrt(d_k)).std().item() == pytest.approx(deviation, rel=0.02)


def weights_and_gradient(d_k: int) -> tuple[list[float], float]:
    """Weights for dot products of 22, 11 and 5, and the largest derivative of a weight by a score."""
    q, keys = torch.zeros(1, d_k), torch.zeros(3, d_k)
    q[0, 0], keys[:, 0] = 1, torch.tensor([22.0, 11, 5])
    scores = attention_scores(q, keys)
    jacobian = torch.autograd.functional.jacobian(attention_weights, scores)
    return attention_weights(scores)[0].tolist(), jacobian.abs().max().item()


def test_fact_6_large_scores_leave_no_gradient_and_scaling_brings_it_back() -> None:
    weights, gradient = weights_and_gradient(d_k=1)
    assert weights == pytest.approx([0.99998, 0.00002, 0.0], abs=5e-6)
    assert gradient < 2e-5
    weights, gradient = weights_and_gradient(d_k=512)
    assert weights == pytest.approx([0.48, 0.29, 0.23], abs=TWO_DIGITS)
    assert gradient > 0.2


WATER_COURSE = [RESERVED + i for i in range(4)]  # 我 爱 水 课


def encoder_states(positions: Positions, order: list[int]) -> Tensor:
    torch.manual_seed(5)
    config = TransformerConfig(
        encoder_layers=2, decoder_layers=1, d_model=26, d_ff=29, heads=2, dropout=0.0, positions=positions
    )
    model = config.build(37, 37)
    ids = torch.tensor([[WATER_COURSE[i] for i in order]])
    return model.encode(ids, torch.tensor([4])).states[0]


def test_fact_8_without_positions_self_attention_does_not_see_the_order() -> None:
    order = [3, 2, 1, 0]  # 课水爱我
    straight, reversed_ = (encoder_states("none", o) for o in ([0, 1, 2, 3], order))
    torch.testing.assert_close(reversed_, straight[order], rtol=0, atol=1e-5)
    assert (straight[0] - straight[1]).abs().max() > 0.1


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "scalar"])
def test_fact_8_with_positions_it_does(positions: Positions) -> None:
    order = [3, 2, 1, 0]
    straight, reversed_ = (encoder_states(positions, o) for o in ([0, 1, 2, 3], order))
    assert ((reversed_ - straight[order]).abs().amax(1) > 0.1).all()


def test_fact_21_a_context_is_a_mean_of_the_values_weighted_by_attention() -> None:
    model: Transformer = TransformerConfig(
        encoder_layers=1, decoder_layers=3, d_model=26, d_ff=29, heads=2, dropout=0.0
    ).build(37, 37)
    source = torch.randint(RESERVED, 37, (3, 11))
    previous = torch.full((3, 7), BOS)
    previous[:, 1:] = torch.randint(RESERVED, 37, (3, 6))
    seen = recorded(lambda: model(source, torch.tensor([11, 5, 2]), previous))
    layers = [name.removesuffix(".weights") for name in seen if name.endswith(".weights")]
    assert sum(name.endswith(".cross") for name in layers) == 3
    for name in layers:
        alpha, h = seen[f"{name}.weights"], seen[f"{name}.values"]
        assert (alpha >= 0).all()
        torch.testing.assert_close(alpha.sum(-1), torch.ones(alpha.shape[:-1]), rtol=0, atol=1e-6)
        context = sum(alpha[..., j, None] * h[:, :, None, j] for j in range(h.shape[2]))
        torch.testing.assert_close(seen[f"{name}.heads"], context, rtol=0, atol=1e-5)
