"""The encoder half: its size, and a vector for a whole text."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError

from transduce.data.batch import Stream
from transduce.models import BertConfig
from transduce.models.outline import outline
from transduce.text.specials import PAD

SMALL = {"layers": 1, "d_model": 10, "d_ff": 13, "heads": 2, "max_positions": 11}


def test_the_defaults_are_bert_base() -> None:
    # As published, 109,482,240 with the pooler and two segments: our head for blanks has as many weights as those.
    found = outline(BertConfig(), 30_522, 30_522)
    assert sum(p.numel() for p in found.values()) == 109_482_240
    assert "source_embedding.weight" not in found  # it is the projection
    assert outline(BertConfig(tie="none"), 30_522, 7)["projection"].shape == (7, 768)


def test_a_text_is_the_mean_of_its_own_tokens_or_its_first() -> None:
    model = BertConfig(**SMALL).build(37, 37).eval()
    batch = Stream.pad([[21, 22, 23], [24, 25, 26, 27, 28], []])
    states = model.encode(batch.ids, batch.lengths)
    mean, first = (model.pool(batch.ids, batch.lengths, pooling) for pooling in ("mean", "first"))
    torch.testing.assert_close(mean[0], states[0, :3].mean(0))
    torch.testing.assert_close(mean[1], states[1].mean(0))
    assert mean[2].tolist() == [0.0] * 10
    assert torch.equal(first, states[:, 0])
    alone = Stream.pad([[21, 22, 23]])
    torch.testing.assert_close(model.pool(alone.ids, alone.lengths, "mean")[0], mean[0])
    assert batch.ids[0, 3] == PAD


def test_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ValidationError, match="heads = 3 does not divide d_model = 10"):
        BertConfig(**{**SMALL, "heads": 3})
