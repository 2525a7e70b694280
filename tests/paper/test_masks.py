"""Masks and causality: facts 9 and 10 (paper 3.2.3)."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.contracts.variations import SOURCE_VOCABULARY, TARGET, Variation, example, having
from transduce.data.batch import Stream
from transduce.layers.tap import record
from transduce.models.contract import EncoderDecoder
from transduce.models.transformer import TransformerConfig
from transduce.text.specials import BOS, RESERVED

LENGTHS = torch.tensor([11, 5, 2])


@pytest.fixture
def model() -> EncoderDecoder:
    return TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=26, d_ff=29, heads=2, dropout=0.0).build(
        SOURCE_VOCABULARY, SOURCE_VOCABULARY
    )


def hidden_places() -> dict[str, Tensor]:
    """Where each attention of the model must not look, [b h t s] or a shape that broadcasts to it."""
    padding = (torch.arange(11) >= LENGTHS[:, None])[:, None, None]
    return {
        "encoder.0.self": padding,
        "decoder.0.cross": padding,
        "decoder.0.self": torch.ones(TARGET, TARGET, dtype=torch.bool).triu(1),
    }


def given() -> tuple[Stream, Tensor]:
    source = Stream(torch.randint(RESERVED, SOURCE_VOCABULARY, (3, 11)), LENGTHS)
    previous = torch.full((3, TARGET), BOS)
    previous[:, 1:] = torch.randint(RESERVED, SOURCE_VOCABULARY, (3, TARGET - 1))
    return source, previous


def test_fact_9_a_masked_score_is_minus_infinity_and_its_weight_exactly_0(model: EncoderDecoder) -> None:
    source, previous = given()
    seen: dict[str, Tensor] = {}
    with record(lambda name, value: seen.setdefault(name, value)):
        model(source.ids, source.lengths, previous)
    for name, hidden in hidden_places().items():
        scores, weights = seen[f"{name}.scores"], seen[f"{name}.weights"]
        hidden = hidden.expand_as(scores)
        assert (scores[hidden] == -math.inf).all() and scores[~hidden].isfinite().all()
        assert (weights[hidden] == 0).all() and (weights[~hidden] > 0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), rtol=0, atol=1e-6)


def test_fact_9_masking_with_0_instead_leaks_weight(model: EncoderDecoder) -> None:
    source, previous = given()
    expected = model(source.ids, source.lengths, previous)
    for name, hidden in hidden_places().items():
        seen: dict[str, Tensor] = {}

        def mask_with_0(place: str, value: Tensor, name: str = name, seen: dict[str, Tensor] = seen) -> Tensor:
            value = value.masked_fill(value == -math.inf, 0.0) if place == f"{name}.scores" else value
            return seen.setdefault(place, value)

        with record(mask_with_0):
            leaking = model(source.ids, source.lengths, previous)
        weights = seen[f"{name}.weights"]
        assert (weights[hidden.expand_as(weights)] > 0.001).all()
        assert (leaking - expected).abs().max() > 1e-3


@pytest.mark.parametrize("variation", having("encoder-decoder"), ids=lambda v: v.name)
def test_fact_10_predictions_depend_on_earlier_tokens_only(variation: Variation) -> None:
    """By derivatives: of the prediction for y_t, those by the vectors of y_t and all after it are exactly 0."""
    model = variation.build().double()
    batch = example(model, lengths=(5,))
    embedded: list[Tensor] = []

    def watch(name: str, value: Tensor) -> Tensor:
        if name == "decoder.embedding":
            value = value.detach().requires_grad_()
            embedded.append(value)
        return value

    with record(watch):
        logits = model(batch.source.ids, batch.source.lengths, batch.previous)
    (vectors,) = embedded
    for t in range(TARGET):  # Prediction t is for y_{t+1}; input t is y_t, and input 0 the start mark.
        (slope,) = torch.autograd.grad(logits[0, t].square().sum(), vectors, retain_graph=True)
        reach = slope[0].abs().amax(1)
        assert (reach[t + 1 :] == 0).all()
        assert (reach[: t + 1] > 0).all()
