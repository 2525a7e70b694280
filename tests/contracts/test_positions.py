"""Sequences longer than a model's positions, and models that have no limit."""

from __future__ import annotations

import pytest
import torch

from tests.contracts.variations import POSITIONS, SOURCE_VOCABULARY, Variation, having, random_text
from transduce.data.batch import Stream
from transduce.errors import InputError
from transduce.search import DecodingConfig, search
from transduce.text.specials import BOS, RESERVED

LONG = 307

UNLIMITED = [v for v in having("encoder-decoder") if v.build().max_positions is None]
LIMITED = [v for v in having("encoder-decoder") if v not in UNLIMITED]


def text(length: int) -> Stream:
    return Stream.pad([random_text(SOURCE_VOCABULARY, length)])


@pytest.mark.parametrize("limited", LIMITED, ids=lambda v: v.name)
@pytest.mark.parametrize("tokens", [POSITIONS + 1, 5000])
def test_case_121_a_sequence_above_the_positions_is_refused_with_the_limit(limited: Variation, tokens: int) -> None:
    model = limited.build()
    assert model.max_positions == POSITIONS
    message = rf"{tokens} tokens is longer than the {POSITIONS} learned positions"
    source, short = text(tokens), text(3)
    with pytest.raises(InputError, match=message):
        model.encode(source.ids, source.lengths)
    with pytest.raises(InputError, match=message):
        model.hidden(source.ids, model.encode(short.ids, short.lengths))
    with pytest.raises(InputError, match=message):
        search(model, source.ids, source.lengths, DecodingConfig())


@pytest.mark.parametrize("limited", LIMITED, ids=lambda v: v.name)
def test_case_124_the_last_position_is_usable_and_the_next_is_refused(limited: Variation) -> None:
    model = limited.build()
    source = text(POSITIONS)
    memory = model.encode(source.ids, source.lengths)
    assert model.hidden(source.ids, memory).shape == (1, POSITIONS, model.d_model)
    state = model.start(memory, POSITIONS + 1)
    for _ in range(POSITIONS):
        _, state = model.step(torch.tensor([BOS]), state)
    with pytest.raises(InputError, match=f"{POSITIONS + 1} tokens"):
        model.step(torch.tensor([BOS]), state)


@pytest.mark.parametrize("unlimited", UNLIMITED, ids=lambda v: v.name)
def test_models_without_a_limit_read_and_write_long_sequences(unlimited: Variation) -> None:
    model = unlimited.build()
    source, short, previous = text(LONG), text(3), torch.tensor([[BOS, RESERVED]])
    with torch.inference_mode():
        before = model(short.ids, short.lengths, previous)
        long = model(source.ids, source.lengths, source.ids)
        assert long.shape == (1, LONG, model.vocabulary) and long.isfinite().all()
        # Tables may have grown meanwhile: that must not have moved what they held.
        assert torch.equal(model(short.ids, short.lengths, previous), before)
