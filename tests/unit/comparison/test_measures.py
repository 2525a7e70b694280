"""Measures on models whose behaviour is known, and on outputs made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from transduce.comparison.growth import Growth
from transduce.comparison.measures.alignment import Count
from transduce.comparison.measures.context import measure_context, phrases
from transduce.comparison.measures.parallel import measure_parallel
from transduce.comparison.measures.words import says
from transduce.comparison.subject import TestSet
from transduce.demo.corpus import Example
from transduce.models import (
    ByteNetConfig,
    ConvS2SConfig,
    FeedForwardConfig,
    RnnConfig,
    RnnSearchConfig,
    Seq2SeqConfig,
    TransformerConfig,
)
from transduce.tasks import TASKS
from transduce.text.tokenizer import Piece

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

EASY = Example("我爱水课", "I love easy courses", ((0, 1, 0, 1), (1, 2, 2, 6), (2, 4, 7, 19)), ("水课",), ())
DRINK = Example("我喝水", "I drink water", ((0, 1, 0, 1), (1, 2, 2, 7), (2, 3, 8, 13)), ("喝水",), ())
DRY = Example("我走", "I walk", ((0, 1, 0, 1), (1, 2, 2, 6)), (), ())


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (FeedForwardConfig(d_model=7, d_ff=11), "constant"),
        (RnnConfig(d_model=7), "linear"),
        (RnnConfig(d_model=7, cell="lstm"), "linear"),
        (Seq2SeqConfig(layers=1, d_model=7), "linear"),
        (RnnSearchConfig(d_model=14), "linear"),
        (ConvS2SConfig(encoder_layers=1, decoder_layers=1, d_model=7), "constant"),
        (ByteNetConfig(encoder_layers=2, decoder_layers=2, d_model=14), "constant"),
        (TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=26, d_ff=29, heads=2), "constant"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_dependent_steps_of_each_model(config: Any, expected: Growth) -> None:
    task = next(task for task in TASKS.values() if task.needs in config.capabilities)
    found = measure_parallel(config.build(37, 37), task, (37, 37))
    assert found.growth == expected
    assert all(second > 0 for second in found.seconds) and len(found.seconds) == len(found.sizes) == 4


def test_a_models_longest_sentence_bounds_what_is_tried() -> None:
    model = FeedForwardConfig(input="concat", d_model=7, d_ff=11, max_positions=17).build(37, 37)
    assert measure_parallel(model, TASKS["label"], (37, 37)).sizes == [4, 8, 16]


def subject(examples: list[Example], texts: list[str]) -> Any:
    test = TestSet("test", [e.source for e in examples], [e.target for e in examples], examples, len(examples))
    experiment = SimpleNamespace(target_language="en")
    return SimpleNamespace(
        tests=[test], texts=[texts], sources=[[list(e.source) for e in examples]],
        planned=SimpleNamespace(experiment=experiment),
    )  # fmt: skip


def test_context_wants_the_phrase_that_stands_for_water() -> None:
    assert phrases(EASY) == {"easy courses"} and phrases(DRINK) == {"water"} and phrases(DRY) == set()
    examples = [EASY, EASY, DRINK, DRY]
    found = measure_context(subject(examples, ["Easy courses I love", "I love water", "Water", "I walk"]))
    assert found is not None
    assert found.sentences == 3
    assert [found.accuracy, found.blind] == pytest.approx([2 / 3, 2 / 3])
    assert found.by_sense == {"水课": (1, 2), "喝水": (1, 1)}
    assert measure_context(subject([DRY], ["I walk"])) is None


def test_a_phrase_is_whole_words_in_whatever_case() -> None:
    assert says("I love his Easy Courses.", "easy courses") and says("It's I", "i")
    assert not says("In his waterfall", "I") and not says("a watercolor", "water") and not says("", "water")


def pieces(*places: tuple[int, int]) -> list[Piece]:
    return [Piece(17, "", start, end) for start, end in places]


def test_alignment_error_rate_by_hand() -> None:
    source = pieces((0, 1), (1, 2), (2, 3), (3, 4))
    target = pieces((0, 1), (1, 6), (6, 11), (11, 19))
    right, half, wrong = Count(), Count(), Count()
    right.add(EASY, source, target, [0, 1, 2, 3])
    assert right.error == 0
    # I → 我 and love → 爱; easy and courses → 我: 2 of 4 links and 2 of 3 phrases.
    half.add(EASY, source, target, [0, 1, 0, 0])
    assert half.error == pytest.approx(1 - 4 / 7)
    wrong.add(EASY, source, target, [1, 0, 0, 0])
    assert wrong.error == 1
