"""No model escapes the contracts, and no shape its signature."""

from __future__ import annotations

from typing import get_args

import jaxtyping
import pytest
import torch

from tests.contracts.variations import VARIATIONS, having
from transduce.models import ModelConfig


def test_every_model_of_the_union_is_tested() -> None:
    union = set(get_args(ModelConfig)) or {ModelConfig}
    assert {type(v.config) for v in VARIATIONS} == union


def test_names_are_distinct_and_every_capability_is_known() -> None:
    assert len({v.name for v in VARIATIONS}) == len(VARIATIONS)
    assert set(having("encoder-decoder")) == set(VARIATIONS)


def test_a_wrong_shape_is_an_error_here() -> None:
    model = VARIATIONS[0].build()
    with pytest.raises(jaxtyping.TypeCheckError, match="lengths"):
        model.encode(torch.ones(3, 11, dtype=torch.int64), torch.ones(2, dtype=torch.int64))
