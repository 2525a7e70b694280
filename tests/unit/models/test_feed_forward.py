"""The feed-forward network by hand, in both forms of its input."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from transduce.errors import InputError
from transduce.models import FeedForwardConfig
from transduce.models.feed_forward import FeedForwardNetwork

WIDTH, INNER, ROOM, SOURCE_VOCABULARY, TARGET_VOCABULARY = 3, 11, 5, 29, 31
SOURCE = torch.tensor([[21, 28, 23, 25], [22, 21, 0, 0]])
LENGTHS = torch.tensor([4, 2])


def built(**settings: Any) -> FeedForwardNetwork:
    config = FeedForwardConfig(d_model=WIDTH, d_ff=INNER, max_positions=ROOM, **settings)
    model = config.build(SOURCE_VOCABULARY, TARGET_VOCABULARY).double().eval()
    with torch.no_grad():
        for layer in (model.feed_forward.W_1, model.feed_forward.W_2):
            layer.bias.normal_()
    return model


def by_hand(model: FeedForwardNetwork, x: Tensor) -> Tensor:
    """o = W₂ max(0, W₁ x + b₁) + b₂."""
    first, second = model.feed_forward.W_1, model.feed_forward.W_2
    return second.weight @ torch.clamp(first.weight @ x + first.bias, min=0) + second.bias


def vectors(model: FeedForwardNetwork, ids: list[int]) -> list[Tensor]:
    return [model.source_embedding.weight[id] * WIDTH**0.5 for id in ids]


def test_averaged_input() -> None:
    model = built(input="mean")
    found = model(SOURCE, LENGTHS)
    for row, ids in zip(found, ([21, 28, 23, 25], [22, 21]), strict=True):
        x = vectors(model, ids)
        expected = model.projection @ by_hand(model, torch.stack(x).sum(0) / len(x))
        for t in range(len(ids)):
            torch.testing.assert_close(row[t], expected)


def test_concatenated_input() -> None:
    model = built(input="concat")
    found = model(SOURCE, LENGTHS)
    for row, ids in zip(found, ([21, 28, 23, 25], [22, 21]), strict=True):
        nothing = torch.zeros(WIDTH * (ROOM - len(ids)), dtype=torch.float64)
        o = by_hand(model, torch.cat([*vectors(model, ids), nothing]))
        for t in range(len(ids)):
            torch.testing.assert_close(row[t], model.projection @ o[WIDTH * t : WIDTH * (t + 1)])


def test_room_for_a_place_costs_weights_whether_it_is_used_or_not() -> None:
    def parameters(room: int) -> int:
        config = FeedForwardConfig(input="concat", d_model=WIDTH, d_ff=INNER, max_positions=room)
        return sum(p.numel() for p in config.build(SOURCE_VOCABULARY, TARGET_VOCABULARY).parameters())

    # Two matrices, and a bias for each number of what is written from.
    assert parameters(ROOM + 1) - parameters(ROOM) == 2 * WIDTH * INNER + WIDTH


def test_a_sentence_that_does_not_fit_in_is_refused_with_the_limit() -> None:
    source = torch.full((2, ROOM + 1), 21)
    with pytest.raises(InputError, match=r"6 tokens is longer than the 5 that the input layer has room for \(model\."):
        built(input="concat")(source, torch.tensor([3, ROOM + 1]))
    assert built(input="concat")(source, torch.tensor([3, ROOM])).shape == (2, ROOM + 1, TARGET_VOCABULARY)
    assert built(input="mean")(source, torch.tensor([3, ROOM + 1])).shape == (2, ROOM + 1, TARGET_VOCABULARY)
