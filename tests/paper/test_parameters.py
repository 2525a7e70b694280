"""What the model is made of: facts 7 and 13 to 16."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from transduce.experiment.presets import PRESETS, PresetName
from transduce.layers.attention import MultiHeadAttention
from transduce.layers.feed_forward import FeedForward
from transduce.layers.residual import Residual
from transduce.layers.tap import record
from transduce.models.transformer import Transformer, TransformerConfig
from transduce.text.specials import BOS, RESERVED

VOCABULARY = 37


@pytest.fixture(scope="module")
def base() -> Transformer:
    """The base model, but for its vocabulary, which is small."""
    torch.manual_seed(20170612)
    return TransformerConfig().build(VOCABULARY, VOCABULARY).eval()


def record_forward(model: Transformer) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """Every tap of one forward pass, and the source [3 11] and previous [3 7] that it read."""
    source = torch.randint(RESERVED, VOCABULARY, (3, 11))
    previous = torch.full((3, 7), BOS)
    previous[:, 1:] = torch.randint(RESERVED, VOCABULARY, (3, 6))
    seen: dict[str, Tensor] = {}
    with torch.no_grad(), record(lambda name, value: seen.setdefault(name, value)):
        model(source, torch.tensor([11, 5, 2]), previous)
    return seen, source, previous


def test_fact_7_eight_heads_of_64_weigh_as_much_as_one_of_512() -> None:
    eight, one = MultiHeadAttention(512, heads=8), MultiHeadAttention(512, heads=1)
    assert (eight.d_k, eight.d_v, one.d_k, one.d_v) == (64, 64, 512, 512)
    counts = [sum(w.numel() for w in (a.W_q, a.W_k, a.W_v)) for a in (eight, one)]
    assert counts == [786_432, 786_432]
    assert eight.W_qkv.weight.numel() == one.W_qkv.weight.numel() == 8 * 512 * 64 * 3


def test_fact_13_thirty_residual_sub_layers_each_a_norm_of_a_sum(base: Transformer) -> None:
    residuals = {module.name: module for module in base.modules() if isinstance(module, Residual)}
    assert len(residuals) == 30
    seen, _, _ = record_forward(base)
    order = [name.removesuffix(".sum") for name in seen if name.endswith(".residual.sum")]
    assert sorted(order) == sorted(residuals)
    for side, sub_layers in (("encoder", 12), ("decoder", 18)):
        x = seen[f"{side}.input"]
        mine = [name for name in order if name.startswith(side)]
        assert len(mine) == sub_layers
        for name in mine:
            total = x + seen[f"{name.removesuffix('.residual')}.output"]
            torch.testing.assert_close(seen[f"{name}.sum"], total, rtol=0, atol=1e-5)
            x = seen[f"{name}.output"]
            torch.testing.assert_close(x, layer_norm(total, residuals[name]), rtol=0, atol=1e-5)
        assert torch.equal(seen[f"{side}.output"], x)


def layer_norm(x: Tensor, residual: Residual) -> Tensor:
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    norm: Any = residual.norm
    return (x - mean) / (variance + norm.eps).sqrt() * norm.weight + norm.bias


def test_fact_14_embeddings_are_multiplied_by_the_root_of_d_model(base: Transformer) -> None:
    seen, source, previous = record_forward(base)
    torch.testing.assert_close(seen["encoder.embedding"], base.projection[source] * math.sqrt(512))
    torch.testing.assert_close(seen["decoder.embedding"], base.projection[previous] * math.sqrt(512))


def test_fact_14_one_matrix_embeds_both_sides_and_projects(base: Transformer) -> None:
    assert base.source_embedding.weight is base.target_embedding.weight is base.projection
    seen, _, _ = record_forward(base)
    torch.testing.assert_close(seen["logits"], seen["decoder.output"] @ base.source_embedding.weight.T)
    matrices = [p for p in base.parameters() if VOCABULARY in p.shape]
    assert len(matrices) == 1


def test_fact_15_feed_forward_is_two_layers_applied_to_each_position() -> None:
    ffn = FeedForward(512, 2048)
    with torch.no_grad():
        ffn.W_1.bias.normal_()
        ffn.W_2.bias.normal_()
    assert (ffn.W_1.weight.shape, ffn.W_2.weight.shape) == ((2048, 512), (512, 2048))
    x = torch.randn(3, 7, 512)
    inner = (x @ ffn.W_1.weight.T + ffn.W_1.bias).maximum(torch.zeros(()))
    torch.testing.assert_close(ffn(x), inner @ ffn.W_2.weight.T + ffn.W_2.bias, rtol=1e-5, atol=1e-5)
    order = torch.randperm(7)
    torch.testing.assert_close(ffn(x[:, order]), ffn(x)[:, order], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("preset", "parameters"), [("base", 63_082_496), ("big", 214_245_376)])
def test_fact_16_parameters_with_a_shared_vocabulary_of_37000(preset: PresetName, parameters: int) -> None:
    with torch.device("meta"):
        model = TransformerConfig(**PRESETS[preset].get("model", {})).build(37_000, 37_000)
    assert all(p.is_meta for p in model.parameters())
    assert sum(p.numel() for p in model.parameters()) == parameters
