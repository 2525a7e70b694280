"""What views of the page need beside the tensors: checked by hand, and for every model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.contracts.variations import VARIATIONS, Variation
from tests.unit.inspection.models import by_hand, demo, named, translator_of, words_of
from transduce.demo.shipped import RUN
from transduce.inspection import record, summaries
from transduce.inspection.next_word import probes, steps
from transduce.inspection.packing import unpacked
from transduce.inspection.place_vectors import place_vectors
from transduce.inspection.reach import LONGEST, reaches
from transduce.inspection.views import derived
from transduce.inspection.words_in_context import companion, contexts

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

TELLING = [v for v in VARIATIONS if "answerer" not in v.build().capabilities]


def test_probabilities_of_a_step_are_those_of_its_logits() -> None:
    tokenizer = words_of("a b c d")
    recording = by_hand([[[1.0, 0.0, 0.0]] * 3], "a b", "c d", tokenizer)
    found = steps(recording)
    size, written = tokenizer.size, [token.id for token in recording.streams["expected"].tokens]
    # One logit of each step is 1 and the others 0: the piece whose id is the step's number.
    likeliest, other = math.e / (math.e + size - 1), 1 / (math.e + size - 1)
    assert [step["written"] for step in found["steps"]] == written
    assert [step["best"][0]["id"] for step in found["steps"]] == [0, 1, 2]
    probabilities = unpacked(found["probabilities"])
    assert probabilities.shape == (3, size)
    assert probabilities[1, 1] == pytest.approx(likeliest) and probabilities[1, 0] == pytest.approx(other)
    logs = [math.log(likeliest if of == t else other) for t, of in enumerate(written)]
    assert found["total"] == pytest.approx(sum(logs))
    curve = found["steps"][2]["curve"]
    assert curve[0] == [1, pytest.approx(likeliest)] and curve[-1] == [size, pytest.approx(other)]


def test_the_curve_falls_over_the_whole_vocabulary() -> None:
    for step in steps(record(demo(), "我爱水课"))["steps"]:
        ranks, probabilities = zip(*step["curve"], strict=True)
        assert (ranks[0], ranks[-1]) == (1, 1600) and list(ranks) == sorted(set(ranks))
        assert list(probabilities) == sorted(probabilities, reverse=True)
        assert probabilities[0] == step["best"][0]["probability"]


def test_the_demo_learned_that_a_water_course_is_easy() -> None:
    (found,) = probes(demo().experiment, RUN / "journal.jsonl")
    assert (found["source"], found["prefix"], found["words"]) == ("我爱水课", "I love", ["easy", "water"])
    lines = (RUN / "journal.jsonl").read_text(encoding="utf-8").split("\n")
    told = [event for event in map(json.loads, filter(None, lines)) if event["event"] == "validation"]
    assert found["points"] == [{"update": e["update"], "values": list(e["probes"][0].values())} for e in told]
    assert [point["update"] for point in found["points"]] == list(range(50, 901, 50))
    # It begins by knowing of neither.
    (first, *_), (last, water) = found["points"][0]["values"], found["points"][-1]["values"]
    assert first < 0.01 and last > 0.9 and water < 0.01


@pytest.mark.parametrize(
    "line",
    [
        "",
        '{"event": "update", "update": 3, "probes": [{"easy": 0.5, "water": 0.25}]}',
        '{"event": "validation", "update": 3}',
        '{"event": "validation", "update": 3, "probes": []}',
        '{"event": "validation", "update": 3, "probes": [{"easy": 0.5}]}',
        '{"event": "validation", "update": 3, "probes": [{"easy": 0.5, "water": "much"}]}',
        '{"event": "validation", "probes": [{"easy": 0.5, "water": 0.25}]}',
        "no JSON",
    ],
)
def test_a_journal_without_probabilities_tells_nothing(tmp_path: Path, line: str) -> None:
    journal = tmp_path / "journal.jsonl"
    assert probes(demo().experiment, journal) == []
    journal.write_text(f"{line}\n")
    assert probes(demo().experiment, journal) == []


def test_positions_are_the_sinusoids_that_the_model_adds() -> None:
    model = named("transformer").build()
    (found,) = place_vectors(model, model.d_model)
    assert (found.name, found.kind, found.vectors.shape) == ("positions", "sinusoidal", (48, 26))
    assert found.vectors[3, 4] == pytest.approx(math.sin(3 / 10000 ** (4 / 26)))
    assert found.vectors[5, 7] == pytest.approx(math.cos(5 / 10000 ** (6 / 26)))
    # sin a sin b + cos a cos b = cos(a − b), for each of the 13 wavelengths.
    turned = sum(math.cos((7 - 2) / 10000 ** (2 * i / 26)) for i in range(13)) / 13
    assert found.cosines[7, 2] == pytest.approx(turned) and np.diag(found.cosines) == pytest.approx(1.0)


def test_learned_positions_end_and_each_side_may_have_its_own() -> None:
    model = named("convs2s").build()
    source, target = place_vectors(model, model.d_model)
    assert (source.name, target.name) == ("source_positions", "target_positions")
    assert source.kind == "learned" and source.vectors.shape == (31, 13)
    assert np.array_equal(source.vectors, model.source_positions.weight.detach().numpy())
    assert source.cosines[2, 2] == pytest.approx(1.0) and abs(source.cosines[2, 3]) < 1


def test_a_bare_number_stands_in_one_dimension_and_some_models_have_none() -> None:
    model = named("scalar-positions").build()
    (found,) = place_vectors(model, model.d_model, places=5)
    assert found.vectors[:, 0].tolist() == [1, 2, 3, 4, 5] and not found.vectors[:, 1:].any()
    for name in ("no-positions", "seq2seq", "bytenet", "rnn"):
        assert place_vectors(named(name).build(), 13) == []


def seen(name: str, text: str = "我爱水课") -> list[list[list[int]]]:
    translator = translator_of(named(name))
    return [(r.influence > 0).astype(int).tolist() for r in reaches(translator, record(translator, text))]


def band(rows: int, columns: int, width: int) -> list[list[int]]:
    return [[int(abs(t - s) <= width) for s in range(columns)] for t in range(rows)]


def test_a_convolution_sees_its_neighbours_and_more_with_each_layer() -> None:
    first, second, last = seen("convs2s")
    assert first == band(5, 5, 1) and second == last == band(5, 5, 2)
    dilated = seen("bytenet")
    # Its encoder gives a state more than the source has tokens; dilations are 1, 2 and 4.
    assert dilated[0] == band(6, 5, 1) and dilated[1] == band(6, 5, 3) and dilated[2] == band(6, 5, 7)


def test_a_recurrent_layer_sees_what_it_has_read() -> None:
    triangle = [[int(s <= t) for s in range(5)] for t in range(5)]
    assert seen("seq2seq-forwards") == [triangle, triangle]
    # This one reads its source from the end.
    assert seen("seq2seq") == [[row[::-1] for row in triangle[::-1]]] * 2
    assert seen("rnn-search") == [band(5, 5, 5)]


def test_self_attention_sees_everything_and_a_language_model_the_past() -> None:
    assert all(stage == band(5, 5, 5) for stage in seen("transformer"))
    first = seen("gpt")[0]
    assert first == [[int(s <= t) for s in range(len(first))] for t in range(len(first))]


def test_influence_is_how_far_a_state_moves() -> None:
    translator = translator_of(named("rnn"))
    recording = record(translator, "我爱水课")
    model: Any = translator.models[0]
    x = recording.tensors["embedding"]
    h = recording.tensors["recurrent.0.hidden"]
    with torch.no_grad():
        moved, _ = model.recurrent(torch.from_numpy(np.concatenate([np.zeros_like(x[:1]), x[1:]]))[None])
    expected = np.linalg.norm(moved[0].numpy() - h, axis=1) / np.linalg.norm(h, axis=1)
    found = next(r for r in reaches(translator, recording) if r.place == "recurrent.0.hidden")
    assert found.influence[:, 0] == pytest.approx(expected, abs=1e-6) and expected[0] > 0.1


def test_a_long_text_is_not_measured() -> None:
    translator = demo()
    # The end mark is a token too.
    assert reaches(translator, record(translator, "水" * (LONGEST - 1))) != []
    assert reaches(translator, record(translator, "水" * LONGEST)) == []


def test_a_word_in_two_sentences() -> None:
    translator = demo()
    first, second = (record(translator, text) for text in ("我爱水课", "水和我喝水"))
    found = contexts(first, second)
    assert [(word["text"], word["starts"], word["tokens"]) for word in found] == [
        ("我", [0, 2], [[0], [2]]),
        ("水", [2, 0], [[2], [0]]),
    ]
    cosines = {stage["place"]: stage["cosine"] for stage in found[1]["stages"]}
    a, b = first.tensors["encoder.1.output"][2], second.tensors["encoder.1.output"][0]
    assert cosines["encoder.embedding"] == pytest.approx(1.0)
    assert cosines["encoder.1.output"] == pytest.approx(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), abs=1e-6)
    assert contexts(first, record(translator, "他们")) == []


def test_a_language_model_has_no_source_to_compare() -> None:
    translator = translator_of(named("gpt"))
    recording = record(translator, "我爱水课")
    assert contexts(recording, recording) == [] and companion(recording, translator.experiment) is None


def test_the_companion_shares_words_with_the_sentence() -> None:
    translator = demo()
    assert companion(record(translator, "我爱水课"), translator.experiment) == "我每天喝水"
    assert companion(record(translator, "我每天喝水"), translator.experiment) == "我妈妈每天吃水果"
    assert companion(record(translator, "!?"), translator.experiment) is None


@pytest.mark.parametrize("variation", TELLING, ids=lambda v: v.name)
def test_every_model_has_what_it_can_have_and_all_of_it_is_json(variation: Variation) -> None:
    translator = translator_of(variation)
    recording = record(translator, "我爱水课")
    found = json.loads(json.dumps(derived(recording, translator), allow_nan=False))
    assert len(found["heads"] or []) == len(summaries(recording))
    assert found["next"]["total"] == pytest.approx(sum(step["log_probability"] for step in found["next"]["steps"]))
    assert found["probes"] is None
    assert found["reach"] and all(unpacked(stage["influence"]).any() for stage in found["reach"])
    alone = derived(recording, None)
    assert [name for name in alone if alone[name] is not None] == (["heads", "next"] if recording.places else ["next"])
