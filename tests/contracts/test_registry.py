"""No model escapes the contracts, and no shape its signature."""

from __future__ import annotations

from typing import get_args

import jaxtyping
import pytest
import torch

from tests.contracts.variations import SOURCE_VOCABULARY, VARIATIONS, Variation, having
from transduce.models import ModelConfig


def test_every_model_of_the_union_is_tested() -> None:
    union, discriminator = get_args(ModelConfig)
    assert {type(v.config) for v in VARIATIONS} == set(get_args(union))
    assert discriminator.discriminator == "kind"
    assert len({v.config.kind for v in VARIATIONS}) == len(get_args(union))


def test_names_are_distinct_and_every_capability_is_known() -> None:
    assert len({v.name for v in VARIATIONS}) == len(VARIATIONS)
    offers = ("encoder-decoder", "labeller", "language-model", "answerer")
    assert {v for name in offers for v in having(name)} == set(VARIATIONS)
    assert {c for v in VARIATIONS for c in v.config.capabilities} == {
        "encoder-decoder", "labeller", "encoder", "language-model", "answerer", "cross-attention", "recurrent",
    }  # fmt: skip


@pytest.mark.parametrize("variation", VARIATIONS, ids=lambda v: v.name)
def test_settings_answer_as_their_model_does(variation: Variation) -> None:
    model = variation.build()
    assert variation.config.capabilities == model.capabilities
    assert variation.config.longest == model.max_positions
    assert variation.config.needs_joint_vocabulary == (model.source_embedding.weight is model.projection)
    assert model.projection.shape == (model.vocabulary, model.d_model)
    assert model.source_embedding.weight.shape == (SOURCE_VOCABULARY, model.d_model)
    assert 0 < variation.config.activation_floats(5) <= variation.config.activation_floats(7)


def test_a_wrong_shape_is_an_error_here() -> None:
    model = VARIATIONS[0].build()
    with pytest.raises(jaxtyping.TypeCheckError, match="lengths"):
        model.encode(torch.ones(3, 11, dtype=torch.int64), torch.ones(2, dtype=torch.int64))
