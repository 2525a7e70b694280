"""Models by capability."""

from __future__ import annotations

import pytest

from tests.contracts.variations import Variation, having
from transduce.models.contract import EncoderDecoder


@pytest.fixture(params=having("encoder-decoder"), ids=lambda v: v.name)
def variation(request: pytest.FixtureRequest) -> Variation:
    """Each encoder-decoder in turn."""
    return request.param


@pytest.fixture
def model(variation: Variation) -> EncoderDecoder:
    """Its model, in eval mode, with random weights."""
    return variation.build()
