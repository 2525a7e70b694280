"""A language model's batches, loss and perplexities, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from transduce.models import GptConfig
from transduce.models.gpt import Gpt
from transduce.search import DecodingConfig
from transduce.tasks import Generate
from transduce.tasks.measure import Measure, measure
from transduce.text.specials import BOS, EOS, PAD, RESERVED

VOCABULARY = RESERVED + 17
A, B, C = range(RESERVED, RESERVED + 3)


def build(**changes: object) -> Gpt:
    sizes = {"layers": 1, "d_model": 14, "d_ff": 19, "heads": 2, "max_positions": 31}
    return GptConfig(**{**sizes, **changes}).build(VOCABULARY, VOCABULARY).eval()  # type: ignore[arg-type]


class Lengths:
    """As much of a store as `tokens` asks for."""

    def lengths(self, name: str) -> np.ndarray:
        return {"target": np.array([1, 3, 5], np.int32)}[name]


def test_every_token_and_the_end_follow_from_those_before() -> None:
    batch = Generate().batch([[], []], [[A, B, C], [B]], [5, 7])
    assert batch["previous"].ids.tolist() == [[BOS, A, B, C], [BOS, B, PAD, PAD]]
    assert batch["expected"].ids.tolist() == [[A, B, C, EOS], [B, EOS, PAD, PAD]]
    assert batch.examples == (5, 7)
    assert Generate().tokens(Lengths(), np.array([0, 2])) == (8, 8)  # type: ignore[arg-type]


def test_the_loss_is_that_of_each_token_by_hand() -> None:
    model = build()
    batch = Generate().batch([[], []], [[A, B, C], [B]], [0, 1])
    log_p = model(batch["previous"].ids).log_softmax(-1).detach()
    by_hand = [
        [log_p[0, 0, A], log_p[0, 1, B], log_p[0, 2, C], log_p[0, 3, EOS]],
        [log_p[1, 0, B], log_p[1, 1, EOS]],
    ]
    total = -sum(float(value) for row in by_hand for value in row)
    assert float(Generate().loss(model, batch, 0.0).detach()) == pytest.approx(total, rel=1e-5)
    for row, expected in zip(Generate().token_log_probabilities(model, batch), by_hand, strict=True):
        assert row == pytest.approx([float(value) for value in expected], rel=1e-5)
    found = measure(Generate(), model, [[], []], [[A, B, C], [B]], batch_tokens=5)
    assert found.nats == pytest.approx(total, rel=1e-5) and found.tokens == 6 and found.whole
    best = [
        (log_p[row, t].argmax(), id) for row, ids in ((0, [A, B, C, EOS]), (1, [B, EOS])) for t, id in enumerate(ids)
    ]
    assert found.hits == sum(int(choice) == id for choice, id in best)


def test_a_model_that_knows_nothing_is_as_perplexed_as_its_vocabulary_is_large() -> None:
    model = build()
    with torch.no_grad():
        model.projection.zero_()
    found = measure(Generate(), model, [[]] * 3, [[A, B, C], [B], []], batch_tokens=100)
    assert found.loss == pytest.approx(math.log(VOCABULARY)) and found.tokens == 7


def test_perplexities_share_the_same_nats_among_tokens_bytes_and_words() -> None:
    # 我爱 is 6 bytes and one word; each text's end is a token, a byte and a word.
    scores = Measure(nats=24.0, tokens=8, hits=2, whole=True).scores(["我爱", "a bc d"])
    assert [(s.name, s.signature) for s in scores] == [
        ("accuracy", "tokens:8"),
        ("perplexity per token", "tokens:8"),
        ("perplexity per byte", "bytes:14"),
        ("perplexity per word", "words:6"),
    ]
    assert [s.value for s in scores] == pytest.approx([25.0, math.exp(3), math.exp(24 / 14), math.exp(4)])
    part = Measure(nats=24.0, tokens=8, hits=2, whole=False).scores(["我爱", "a bc d"])
    assert [s.name for s in part] == ["accuracy", "perplexity per token"]
    assert Measure(nats=9e9, tokens=8, hits=2, whole=True).scores(["a"])[1].value < math.inf


def test_a_prefix_stands_behind_the_source() -> None:
    model, config = build(), DecodingConfig(beam=1, max_extra=5, min_length=4)
    (found,) = Generate().decode(model, [[A, B]], config, prefixes=[[C]])
    assert found[0].ids[:3] == (A, B, C) and 4 <= len(found[0].ids) <= 7
    assert Generate().decode(model, [[A, B, C]], config)[0][0].ids[:3] == (A, B, C)
