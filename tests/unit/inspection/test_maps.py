"""Maps and heads: sums that a person can check, and translations with a part taken away."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.copy_run import load
from tests.unit.inspection.models import by_hand, demo, named, translator_of, words_of
from transduce.errors import InputError
from transduce.inspection import attention_map, record, summaries, without_head, without_word
from transduce.text.bpe import ByteBPE
from transduce.text.tokenizer import Tokenizer, TokenizerConfig

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

BYTES = Tokenizer(ByteBPE([], split_han=False), TokenizerConfig())
# "é" is two bytes, so "éa" with its end mark is four tokens and three of everything else; "b" is two of each.
CROSS = [
    [[0.1, 0.2, 0.3, 0.4], [0.0, 0.5, 0.5, 0.0]],
    [[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]],
]


def test_columns_are_sums_over_tokens() -> None:
    recording = by_hand(CROSS, "éa", "b", BYTES)
    assert recording.places == ("decoder.0.cross",)
    found = attention_map(recording, "decoder.0.cross")
    assert [u.label for u in found.columns] == ["é", "a", "</s>"]
    assert [u.label for u in found.rows] == ["b", "</s>"] and found.reads == ("<s>", "b")
    np.testing.assert_allclose(
        found.values, [[[0.3, 0.3, 0.4], [0.5, 0.5, 0.0]], [[1.0, 0, 0], [0.5, 0.25, 0.25]]], 1e-6
    )
    words = attention_map(recording, "decoder.0.cross", by="words")
    assert [u.label for u in words.columns] == ["éa", "</s>"] and words.reads == ()
    np.testing.assert_allclose(words.values[0], [[0.6, 0.4], [1.0, 0.0]], 1e-6)


def test_rows_are_means_over_tokens() -> None:
    turned = np.swapaxes(np.array(CROSS), 1, 2).tolist()
    found = attention_map(by_hand(turned, "b", "éa", BYTES), "decoder.0.cross")
    assert [u.label for u in found.rows] == ["é", "a", "</s>"] and found.reads == ("<s>", "<A9>", "a")
    np.testing.assert_allclose(found.values[0], [[0.15, 0.25], [0.3, 0.5], [0.4, 0.0]], 1e-6)


def test_a_piece_of_several_characters_is_divided_among_them() -> None:
    recording = by_hand([[[0.6, 0.4], [0.0, 1.0]]], "red", "x", words_of("red x"))
    found = attention_map(recording, "decoder.0.cross", by="characters")
    assert [u.label for u in found.columns] == ["r", "e", "d", "</s>"]
    np.testing.assert_allclose(found.values[0], [[0.2, 0.2, 0.2, 0.4], [0, 0, 0, 1]], 1e-6)


def test_joining_keeps_what_rows_sum_to_and_norms_have_the_same_units() -> None:
    recording = record(demo(), "他昨天在图书馆学习，因为明天有考试。")
    for place in recording.places:
        for by in ("pieces", "characters", "words"):
            weights, norms = (attention_map(recording, place, by=by, values=v) for v in ("weights", "norms"))
            np.testing.assert_allclose(weights.values.sum(-1), 1.0, atol=1e-5)
            assert norms.values.shape == weights.values.shape == (4, len(norms.rows), len(norms.columns))
            assert (norms.columns, norms.rows) == (weights.columns, weights.rows)
    assert attention_map(recording, "decoder.0.self").rows[0].label == "<s>"
    assert attention_map(recording, "decoder.0.cross").rows[-1].label == "</s>"


def test_places_that_do_not_attend_are_refused() -> None:
    recording = by_hand(CROSS, "éa", "b", BYTES)
    with pytest.raises(InputError, match=r"no attention at 'decoder': expected one of decoder\.0\.cross"):
        attention_map(recording, "decoder")
    bare = record(translator_of(named("seq2seq")), "我爱水课", target="I")
    with pytest.raises(InputError, match="expected one of none, as this model does not attend"):
        attention_map(bare, "decoder.0.cross")


def test_a_head_in_a_few_numbers() -> None:
    first, second = summaries(by_hand(CROSS, "éa", "b", BYTES))
    assert (first.place, first.head, second.head) == ("decoder.0.cross", 0, 1)
    assert first.confidence == pytest.approx((0.4 + 0.5) / 2)
    of_first = -sum(p * math.log(p) for p in (0.1, 0.2, 0.3, 0.4))
    assert first.entropy == pytest.approx((of_first + math.log(2)) / 2)
    # Row 0 looks three places further, row 1 at its own.
    assert (first.offset, first.offset_share) == (0, 0.5)
    assert second.entropy == pytest.approx(math.log(4) / 2)
    assert (second.offset, second.offset_share) == (0, 0.5)


def test_the_commonest_offset_is_the_typical_one() -> None:
    before = [[[1.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]]]
    (head,) = summaries(by_hand(before, "red x", "x red", words_of("red x")))
    assert (head.offset, head.offset_share) == (-1, pytest.approx(2 / 3))


def test_a_word_that_is_taken_away_is_missed(copy_run: Path) -> None:
    copier = load(copy_run)
    change = without_word(copier, "red blue cat", 4, 8)
    assert (change.source_after, change.before, change.after) == ("red cat", "red blue cat", "red cat")
    assert change.changed and change.score_before != change.score_after
    assert without_word(copier, "red blue cat", 0, 3).source_after == "blue cat"
    assert without_word(copier, "red blue cat", 9, 12, beam=1).after == "red blue"
    for start, end in ((0, 0), (5, 3), (-1, 2), (0, 99)):
        with pytest.raises(InputError, match=f"characters {start} to {end} of a sentence of 12"):
            without_word(copier, "red blue cat", start, end)
    with pytest.raises(InputError, match="is empty: leave a word to translate"):
        without_word(copier, "red ", 0, 3)
    change = without_word(demo(), "我爱水课", 2, 3)
    assert (change.before, change.source_after) == ("I love easy courses", "我爱课")
    assert "easy" not in change.after


@pytest.mark.parametrize("name", ["transformer", "pre-norm", "rnn-search", "convs2s"])
def test_a_head_that_is_switched_off_brings_nothing(name: str) -> None:
    """As if what it brings to the sub-layer were taken out of the weights."""
    translator = translator_of(named(name))
    place = record(translator, "我爱", target="I").places[-1]
    change = without_head(translator, "我爱水课", place, 0)
    assert change.source_before == change.source_after == "我爱水课"
    (usual,) = translator.translate(["我爱水课"])
    assert change.before == usual.text and change.score_before == pytest.approx(usual.score, rel=1e-5)
    assert change.score_after != change.score_before
    (module,) = (m for m in translator.models[0].modules() if getattr(m, "name", None) == place)
    if hasattr(module, "W_o"):
        width = module.W_o.weight.shape[1] // module.heads
        module.W_o.weight.data[:, :width] = 0.0
        (without,) = translator.translate(["我爱水课"])
        assert change.after == without.text
        assert change.score_after == pytest.approx(without.score, rel=1e-5)


def test_heads_that_are_not_there_are_refused() -> None:
    translator = demo()
    for place, head in (("decoder.1.cross", 4), ("decoder.1.cross", -1), ("decoder.9.cross", 0)):
        with pytest.raises(InputError, match=rf"head {head} of {place}: expected .*decoder\.1\.cross \(4\)"):
            without_head(translator, "我", place, head)
    with pytest.raises(InputError, match=r"expected one of the heads .* of a model with heads"):
        without_head(translator_of(named("seq2seq")), "我", "decoder.0.cross", 0)


def test_a_change_that_changes_nothing_says_so() -> None:
    change = without_head(demo(), "我爱水课", "encoder.0.self", 0)
    assert not replace(change, after=change.before).changed
