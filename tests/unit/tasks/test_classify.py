"""One label for a whole text."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from transduce.errors import ConfigError, InputError
from transduce.models import BertConfig
from transduce.models.bert import Bert
from transduce.search import DecodingConfig
from transduce.tasks import Classify
from transduce.text.specials import BOS, EOS, PAD, RESERVED

LABELS = RESERVED + 5
A, B, C = range(RESERVED, RESERVED + 3)


def build() -> Bert:
    sizes = {"layers": 1, "d_model": 14, "d_ff": 17, "heads": 2, "max_positions": 31, "tie": "none"}
    return BertConfig(**sizes).build(RESERVED + 23, LABELS).eval()  # type: ignore[arg-type]


class Lengths:
    """As much of a store as `tokens` asks for."""

    def lengths(self, name: str) -> np.ndarray:
        return {"source": np.array([1, 3, 5], np.int32), "target": np.ones(3, np.int32)}[name]


def test_a_text_between_its_marks_and_its_label() -> None:
    batch = Classify().batch([[A, B, C], [C]], [[B], [A]], [5, 7])
    assert batch["source"].ids.tolist() == [[BOS, A, B, C, EOS], [BOS, C, EOS, PAD, PAD]]
    assert batch["expected"].ids.tolist() == [[B], [A]]
    assert Classify().tokens(Lengths(), np.array([0, 2])) == (6 + 4, 2)  # type: ignore[arg-type]


def test_the_start_mark_tells_the_label() -> None:
    model = build()
    batch = Classify().batch([[A, B, C], [C]], [[B], [A]], [0, 1])
    log_p = model(batch["source"].ids, batch["source"].lengths)[:, 0].log_softmax(-1).detach()
    by_hand = [float(log_p[0, B]), float(log_p[1, A])]
    assert float(Classify().loss(model, batch, 0.0).detach()) == pytest.approx(-sum(by_hand), rel=1e-5)
    found = Classify().token_log_probabilities(model, batch)
    assert [row[0] for row in found] == pytest.approx(by_hand, rel=1e-5) and [len(row) for row in found] == [1, 1]


def test_the_likeliest_labels_come_first_whatever_shares_the_batch() -> None:
    model = build()
    sources = [[A, B, C], [C], [], [B] * 20]
    together = Classify().decode(model, sources, DecodingConfig(nbest=3))
    for source, found in zip(sources, together, strict=True):
        if not source:
            assert found[0].ids == ()
            continue
        ids = torch.tensor([[BOS, *source, EOS]])
        best = model(ids, torch.tensor([ids.shape[1]]))[0, 0].log_softmax(-1)[RESERVED:].topk(3)
        assert [h.ids for h in found] == [(RESERVED + int(i),) for i in best.indices]
        assert [h.score for h in found] == pytest.approx(best.values.tolist(), abs=1e-5)
    every = Classify().decode(model, [[A]], DecodingConfig(beam=99, nbest=99))[0]
    assert sorted(h.ids[0] for h in every) == list(range(RESERVED, LABELS))


def test_what_has_no_effect_is_refused() -> None:
    with pytest.raises(InputError, match="prefixes"):
        Classify().decode(build(), [[A]], DecodingConfig(), prefixes=[[]])
    with pytest.raises(ConfigError, match=r"decoding.sample = True has no effect"):
        Classify().check(DecodingConfig(sample=True))
    Classify().check(DecodingConfig(nbest=3, without_letters="translate"))
