"""The decoder half: its size."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from transduce.models import GptConfig
from transduce.models.outline import outline


def test_the_defaults_are_the_smallest_gpt_2() -> None:
    found = outline(GptConfig(), 50_257, 50_257)
    assert sum(p.numel() for p in found.values()) == 124_439_808
    assert "source_embedding.weight" not in found  # it is the projection


def test_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ValidationError, match="heads = 7 does not divide d_model = 768"):
        GptConfig(heads=7)
