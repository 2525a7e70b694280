"""From layer to layer: one word in two sentences, what layers would write, and where two recordings differ."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from tests.unit.inspection.models import demo, named, translator_of
from transduce.errors import InputError
from transduce.inspection import compare, logit_lens, predictions, record, similarities

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


def test_water_is_one_embedding_and_two_vectors() -> None:
    translator = demo()
    courses, drink = (record(translator, text) for text in ("我爱水课", "我爱喝水"))
    found = similarities(courses, drink, "水")
    assert [s.place for s in found] == [
        "encoder.embedding", "encoder.input", "encoder.0.output", "encoder.1.output", "encoder.output"
    ]  # fmt: skip
    cosines = [s.cosine for s in found]
    assert cosines[0] == pytest.approx(1.0)
    # It stands at another place, and then among other words.
    assert all(later < earlier + 1e-6 for earlier, later in pairwise(cosines))
    assert cosines[-1] < 0.9
    assert [s.cosine for s in similarities(courses, courses, "水课")] == pytest.approx([1.0] * 5)
    place = "encoder.1.output"
    a, b = courses.tensors[place][2], drink.tensors[place][3]
    assert found[3].cosine == pytest.approx(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), abs=1e-6)


def test_a_word_is_found_where_it_is_said_to_be() -> None:
    translator = demo()
    recording = record(translator, "水和水")
    assert similarities(recording, recording, "水", starts=(0, 0))[-1].cosine == pytest.approx(1.0)
    found = similarities(recording, recording, "水", starts=(0, 2))
    assert found[0].cosine == pytest.approx(1.0) and found[-1].cosine < 0.999
    for starts in (None, (0, 1)):
        with pytest.raises(InputError, match=r"'[水山]' does not stand in '水和水'"):
            similarities(recording, recording, "山" if starts is None else "水", starts=starts)


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("seq2seq", ["encoder.embedding", "encoder.0.output", "encoder.1.hidden"]),
        ("rnn-search", ["encoder.embedding", "encoder.0.output"]),
        ("convs2s", ["encoder.embedding", "encoder.input", "encoder.0.output", "encoder.1.output", "encoder.output"]),
        ("feed-forward-mean", ["embedding", "output"]),
    ],
)
def test_any_model_has_stages(name: str, places: list[str]) -> None:
    translator = translator_of(named(name))
    first, second = (record(translator, text, target="I love") for text in ("我爱水课", "我爱喝水"))
    found = similarities(first, second, "水")
    assert [s.place for s in found] == places
    assert found[0].cosine == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["transformer", "pre-norm", "convs2s", "bytenet"])
def test_the_lens_at_the_last_layer_is_the_model_itself(name: str) -> None:
    translator = translator_of(named(name))
    recording = record(translator, "我爱水课，不爱考试。", target="I love easy courses")
    rows = logit_lens(translator, recording, top=3)
    steps = len(recording.streams["previous"].tokens)
    places = list(dict.fromkeys(row.place for row in rows))
    assert places == [n for n in recording.tensors if n.startswith("decoder.") and n.count(".") == 2 and "output" in n]
    assert [row.position for row in rows] == list(range(steps)) * len(places)
    for row, step in zip(rows[-steps:], predictions(recording, top=3), strict=True):
        assert [p for p, _ in row.pieces] == [g.piece for g in step.best]
        assert [p for _, p in row.pieces] == pytest.approx([g.probability for g in step.best], rel=1e-4)
    assert [row.pieces for row in rows[:steps]] != [row.pieces for row in rows[-steps:]]


def test_the_lens_normalises_as_the_model_does() -> None:
    translator = translator_of(named("pre-norm"))
    recording = record(translator, "我爱水课", target="I")
    model, first = translator.models[0], recording.tensors["decoder.0.output"]
    with torch.no_grad():
        logits = model.project(model.decoder_norm(torch.from_numpy(first)))  # type: ignore[operator]
        best = logits.softmax(-1).max(-1).values
    rows = logit_lens(translator, recording, top=1)
    assert [row.pieces[0][1] for row in rows[: len(first)]] == pytest.approx(best.tolist(), rel=1e-5)


@pytest.mark.parametrize("name", ["seq2seq", "rnn-search-dot", "no-residual"])
def test_the_lens_needs_layers_that_add_up(name: str) -> None:
    translator = translator_of(named(name))
    with pytest.raises(InputError, match="the logit lens needs a decoder of several layers"):
        logit_lens(translator, record(translator, "我", target="I"))


def test_recordings_are_compared_tensor_by_tensor() -> None:
    translator = translator_of(named("transformer"))
    first = record(translator, "我爱水课", target="I love")
    assert {(d.kind, d.largest) for d in compare(first, first)} == {("equal", 0.0)}
    logits = first.tensors["logits"].copy()
    logits[1, 5] += 0.25
    second = replace(first, tensors=first.tensors | {"logits": logits})
    (changed,) = (d for d in compare(first, second) if d.kind != "equal")
    assert (changed.name, changed.kind, changed.where) == ("logits", "values", (1, 5))
    assert changed.largest == pytest.approx(0.25, abs=1e-6)
    assert changed.shapes == (logits.shape, logits.shape)


def test_recordings_of_other_shapes_and_models_are_compared_too() -> None:
    translator = translator_of(named("transformer"))
    short, long = (record(translator, text, target="I love") for text in ("我爱", "我爱水课"))
    found = {d.name: d for d in compare(short, long)}
    assert found["encoder.output"].kind == "shape" and found["encoder.output"].largest is None
    assert found["encoder.output"].shapes == ((3, 26), (5, 26))
    assert found["logits"].kind == "values"
    # Future cells are −∞ in both.
    scores = found["decoder.0.self.scores"]
    assert scores.kind == "equal" and scores.largest == 0.0
    assert np.isinf(short.tensors["decoder.0.self.scores"]).any()
    other = record(translator_of(named("seq2seq")), "我爱", target="I love")
    kinds = {d.name: d.kind for d in compare(short, other)}
    assert kinds["encoder.0.self.weights"] == "only in the first"
    assert kinds["encoder.context"] == "only in the second"
    second = [kind == "only in the second" for kind in kinds.values()]
    assert second == sorted(second), "those of the second alone come last"
