"""The decoder cannot read the answer, and reads all else.

In double precision: without residual connections a token's influence is small, and rounding smaller still.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from tests.contracts.variations import BATCH, SOURCE_VOCABULARY, TARGET, example, teacher_forced
from transduce.models.contract import EncoderDecoder
from transduce.text.specials import RESERVED

NOTHING, SOMETHING = 1e-13, 1e-9


def changed(ids: torch.Tensor, place: int, vocabulary: int) -> torch.Tensor:
    """Another token of text at one place of every row."""
    ids = ids.clone()
    ids[:, place] = RESERVED + (ids[:, place] - RESERVED + 1) % (vocabulary - RESERVED)
    return ids


def test_a_token_changes_no_prediction_up_to_its_own_and_a_later_one(model: EncoderDecoder) -> None:
    given = example(model.double())
    before = teacher_forced(model, given)
    for t in range(1, TARGET):
        # The target is shifted right: input t is the answer to prediction t - 1.
        other = replace(given, previous=changed(given.previous, t, model.vocabulary))
        difference = (teacher_forced(model, other) - before).abs().amax(2)
        assert difference[:, :t].max() < NOTHING
        assert (difference[:, t:].amax(1) > SOMETHING).all()


def test_every_source_token_reaches_every_prediction(model: EncoderDecoder) -> None:
    given = example(model.double(), lengths=(5, 5, 5))
    before = teacher_forced(model, given)
    for s in range(5):
        source = replace(given.source, ids=changed(given.source.ids, s, SOURCE_VOCABULARY))
        difference = (teacher_forced(model, replace(given, source=source)) - before).abs().amax(2)
        assert difference.shape == torch.Size([BATCH, TARGET]) and (difference > SOMETHING).all()
