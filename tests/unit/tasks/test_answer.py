"""One answer to a question about a story."""

from __future__ import annotations

import numpy as np
import pytest

from transduce.errors import ConfigError, InputError
from transduce.experiment import Experiment
from transduce.models import MemoryNetworkConfig
from transduce.models.memory_network import MemoryNetwork
from transduce.search import DecodingConfig
from transduce.tasks import Answer
from transduce.text.specials import PAD, RESERVED
from transduce.text.vocabulary import FULL_STOP_ID as STOP

A, B, C = range(RESERVED + 1, RESERVED + 4)
SOURCES = [[A, STOP, B, STOP, C], [A, C]]


def build() -> MemoryNetwork:
    return MemoryNetworkConfig(d_model=13).build(RESERVED + 23, RESERVED + 5).eval()


class Lengths:
    """As much of a store as `tokens` asks for."""

    def lengths(self, name: str) -> np.ndarray:
        return {"source": np.array([5, 3, 7], np.int32), "target": np.ones(3, np.int32)}[name]


def test_a_story_as_it_is_and_its_answer() -> None:
    batch = Answer().batch(SOURCES, [[B], [A]], [5, 7])
    assert batch["source"].ids.tolist() == [[A, STOP, B, STOP, C], [A, C, PAD, PAD, PAD]]
    assert batch["expected"].ids.tolist() == [[B], [A]]
    assert Answer().tokens(Lengths(), np.array([0, 2])) == (12, 2)  # type: ignore[arg-type]


def test_the_loss_is_the_answers() -> None:
    model = build()
    batch = Answer().batch(SOURCES, [[B], [A]], [0, 1])
    log_p = model(batch["source"].ids, batch["source"].lengths).log_softmax(-1).detach()
    by_hand = [float(log_p[0, B]), float(log_p[1, A])]
    assert float(Answer().loss(model, batch, 0.0).detach()) == pytest.approx(-sum(by_hand), rel=1e-5)
    assert Answer().token_log_probabilities(model, batch) == [[pytest.approx(p, rel=1e-5)] for p in by_hand]


def test_every_answer_can_be_asked_for_and_no_special_id_is_one() -> None:
    (every,) = Answer().decode(build(), SOURCES[:1], DecodingConfig(beam=99, nbest=99))
    assert sorted(h.ids[0] for h in every) == list(range(RESERVED, RESERVED + 5))


def test_settings_that_the_task_needs_come_with_the_model_and_no_other_is_taken() -> None:
    corpora = {"train": [{"builtin": "questions-train"}], "valid": {"builtin": "questions-valid"}}
    named = Experiment.model_validate({"task": "answer", "data": corpora})
    assert named.model.kind == "memory_network"
    left_out = Experiment.model_validate({"model": {"kind": "memory_network"}, "data": corpora})
    assert left_out.task == "answer"
    assert (left_out.tokenizer.kind, left_out.tokenizer.target_kind) == ("sentences", "line")
    with pytest.raises(ValueError, match=r"needs tokenizer.kind = 'sentences', not 'word'"):
        Experiment.model_validate({"task": "answer", "data": corpora, "tokenizer": {"kind": "word"}})


def test_what_has_no_effect_is_refused() -> None:
    with pytest.raises(InputError, match="prefixes"):
        Answer().decode(build(), SOURCES, DecodingConfig(), prefixes=[[], []])
    with pytest.raises(ConfigError, match=r"decoding.sample = True has no effect"):
        Answer().check(DecodingConfig(sample=True))
