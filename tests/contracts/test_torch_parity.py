"""An outside reference: `torch.nn.Transformer` with our weights gives our outputs and our gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.contracts.variations import BATCH, SOURCE, SOURCE_VOCABULARY, TARGET, Example, close, example, shaken
from transduce.layers.attention import MultiHeadAttention
from transduce.layers.blocks import DecoderLayer, EncoderLayer
from transduce.layers.residual import Norm
from transduce.models.transformer import Transformer, TransformerConfig
from transduce.tasks.losses import label_smoothed_cross_entropy
from transduce.text.specials import RESERVED

WIDTH, INNER, HEADS, ENCODER_LAYERS, DECODER_LAYERS = 26, 29, 2, 1, 3


def ours(norm: Norm) -> Transformer:
    config = TransformerConfig(
        encoder_layers=ENCODER_LAYERS, decoder_layers=DECODER_LAYERS, d_model=WIDTH, d_ff=INNER, heads=HEADS,
        dropout=0.0, norm=norm,
    )  # fmt: skip
    model = config.build(SOURCE_VOCABULARY, SOURCE_VOCABULARY)
    shaken(model)
    return model


def theirs(norm: Norm) -> nn.Transformer:
    """Their stacks; with a norm at the end of each only where ours has one."""
    sizes: dict[str, Any] = {
        "d_model": WIDTH, "nhead": HEADS, "dim_feedforward": INNER, "dropout": 0.0, "batch_first": True,
        "norm_first": norm == "pre",
    }  # fmt: skip

    def final() -> nn.LayerNorm | None:
        return nn.LayerNorm(WIDTH) if norm == "pre" else None

    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**sizes), ENCODER_LAYERS, final(), enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), DECODER_LAYERS, final())
    return nn.Transformer(WIDTH, HEADS, batch_first=True, custom_encoder=encoder, custom_decoder=decoder)


def pairs(model: Any, reference: Any) -> list[tuple[Tensor, Tensor]]:
    """Each of our parameters in the stacks beside theirs."""
    found: list[tuple[Tensor, Tensor]] = []

    def same(a: nn.Module, b: nn.Module) -> None:
        found.extend(zip(a.parameters(), b.parameters(), strict=True))

    def attention(a: MultiHeadAttention, b: nn.MultiheadAttention) -> None:
        found.extend([(a.W_qkv.weight, b.in_proj_weight), (a.W_qkv.bias, b.in_proj_bias)])
        same(a.W_o, b.out_proj)

    def layer(a: EncoderLayer | DecoderLayer, b: Any) -> None:
        attention(a.self_attention, b.self_attn)
        residuals = [a.residual_self, a.residual_feed_forward]
        if isinstance(a, DecoderLayer):
            attention(a.cross_attention, b.multihead_attn)
            residuals.insert(1, a.residual_cross)
        same(a.feed_forward.W_1, b.linear1)
        same(a.feed_forward.W_2, b.linear2)
        for i, residual in enumerate(residuals, start=1):
            same(residual.norm, getattr(b, f"norm{i}"))

    for mine, other in ((model.encoder, reference.encoder), (model.decoder, reference.decoder)):
        for a, b in zip(mine, other.layers, strict=True):
            layer(a, b)
    if reference.encoder.norm is not None:
        same(model.encoder_norm, reference.encoder.norm)
        same(model.decoder_norm, reference.decoder.norm)
    return found


def hidden_by_reference(model: Transformer, reference: nn.Transformer, given: Example) -> Tensor:
    """Their stacks between our embeddings and our projection."""

    def embed(embedding: nn.Module, ids: Tensor) -> Tensor:
        return model.positions(embedding(ids))

    padding = torch.arange(given.source.ids.shape[1]) >= given.source.lengths[:, None]
    return reference(
        embed(model.source_embedding, given.source.ids),
        embed(model.target_embedding, given.previous),
        tgt_mask=torch.ones(TARGET, TARGET, dtype=torch.bool).triu(1),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )


def gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_outputs_and_gradients_equal_those_of_torch(norm: Norm) -> None:
    model, reference = ours(norm), theirs(norm)
    shared = pairs(model, reference)
    assert len(shared) == len(list(reference.parameters())) == len(list(model.parameters())) - 1
    with torch.no_grad():
        for mine, other in shared:
            other.copy_(mine)
    given = example(model)
    expected = torch.randint(RESERVED, SOURCE_VOCABULARY, (BATCH, TARGET))
    assert given.source.ids.shape == (BATCH, SOURCE)

    states = model.hidden(given.previous, model.encode(given.source.ids, given.source.lengths))
    label_smoothed_cross_entropy(states.flatten(0, 1), model.projection, expected.flatten(), 0.1).backward()
    embedding = gradient(model.projection)
    model.projection.grad = None

    reference_logits = F.linear(hidden_by_reference(model, reference, given), model.projection)
    F.cross_entropy(reference_logits.flatten(0, 1), expected.flatten(), reduction="sum", label_smoothing=0.1).backward()
    close(model.project(states), reference_logits)
    close(embedding, gradient(model.projection))
    for mine, other in shared:
        close(gradient(mine), gradient(other))
