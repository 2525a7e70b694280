"""What the page is given: every tensor to the last bit, and derived numbers that follow from them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import without_shape_checks
from tests.contracts.variations import VARIATIONS, Variation
from tests.unit.inspection.models import by_hand, demo, named, translator_of, words_of
from transduce.demo.shipped import RUN
from transduce.errors import InputError
from transduce.inspection import Recording, record
from transduce.inspection.alignment import attention_map
from transduce.inspection.packing import packed, unpacked
from transduce.inspection.payload import payload
from transduce.inspection.predictions import predictions
from transduce.translator import Translator

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

KINDS = list({v.config.kind: v for v in VARIATIONS if v.config.kind != "memory_network"}.values())


@pytest.fixture(scope="module")
def translator() -> Translator:
    return demo()


@pytest.fixture(scope="module")
def recording(translator: Translator) -> Recording:
    with without_shape_checks():
        return record(translator, "我爱水课")


@pytest.fixture(scope="module")
def made(recording: Recording, translator: Translator) -> dict[str, Any]:
    with without_shape_checks():
        return payload(recording, translator, journal=RUN / "journal.jsonl")


def test_an_array_comes_back_to_the_last_bit() -> None:
    array = np.array([[-np.inf, 1e-45, 0.1], [-0.0, 3.4e38, 1 / 3]], np.float32)
    assert unpacked(packed(array)).tobytes() == array.tobytes()
    assert packed(array.T)["shape"] == [3, 2]
    assert (unpacked(packed(array.T)) == array.T).all()


def test_two_by_three_by_hand_has_no_axis_swapped() -> None:
    # Two heads, 3 steps ("a b" and its end), 4 source tokens ("x y z" and its end): weights say where they stand.
    weights = [[[h + t / 10 + s / 100 for s in range(4)] for t in range(3)] for h in range(2)]
    recording = by_hand(weights, "x y z", "a b", words_of("a b x y z"))
    made = payload(recording)
    assert made["tensors"]["decoder.0.cross.weights"]["shape"] == [2, 3, 4]
    assert unpacked(made["tensors"]["decoder.0.cross.weights"])[1, 2, 3] == np.float32(1.23)
    (shown,) = [m for m in made["views"]["attention"]["maps"] if m["unit"] == "pieces"]
    assert shown["tensor"] == "decoder.0.cross.weights" and shown["values"] is None
    assert [row["label"] for row in shown["rows"]] == ["a", "b", "</s>"]
    assert [column["label"] for column in shown["columns"]] == ["x", "y", "z", "</s>"]
    assert shown["reads"] == ["<s>", "a", "b"] and shown["streams"] == ["previous", "source"]
    mean = unpacked(shown["mean"])
    assert mean.shape == (3, 4) and mean[2, 3] == np.float32(0.73)


def test_every_tensor_and_note_is_in_it(recording: Recording, made: dict[str, Any]) -> None:
    made = json.loads(json.dumps(made, allow_nan=False))
    assert made["notes"] == json.loads(json.dumps(recording.notes()))
    assert list(made["tensors"]) == list(recording.tensors)
    for name, tensor in recording.tensors.items():
        assert unpacked(made["tensors"][name]).tobytes() == tensor.tobytes(), name


@pytest.mark.parametrize("unit", ["pieces", "characters", "words"])
def test_maps_by_units_are_those_of_python(recording: Recording, made: dict[str, Any], unit: Any) -> None:
    maps = [m for m in made["views"]["attention"]["maps"] if m["unit"] == unit]
    assert [m["place"] for m in maps if m["kind"] == "norms"] == list(recording.places)
    for shown in maps:
        expected = attention_map(recording, shown["place"], by=unit, values=shown["kind"]).values
        found = recording.tensors[shown["tensor"]] if shown["tensor"] else unpacked(shown["values"])
        assert (found == expected.astype(np.float32)).all()
        assert (unpacked(shown["mean"]) == expected.mean(0).astype(np.float32)).all()


def test_a_query_is_worked_out_to_its_weights(recording: Recording, made: dict[str, Any]) -> None:
    places = made["views"]["query"]["places"]
    assert [p["place"] for p in places] == list(recording.places)
    for found in places:
        place, tensors = found["place"], recording.tensors
        assert (found["score"], found["width"]) == ("scaled", 32) and found["root"] == pytest.approx(32**0.5)
        products, scaled, powers = (unpacked(found[key]) for key in ("products", "scaled", "powers"))
        q, k = tensors[f"{place}.queries"], tensors[f"{place}.keys"]
        assert products[3, 2, 1] == pytest.approx(
            sum(float(a) * float(b) for a, b in zip(q[3, 2], k[3, 1], strict=True))
        )
        seen = np.isfinite(tensors[f"{place}.scores"])
        np.testing.assert_allclose(scaled[seen], tensors[f"{place}.scores"][seen], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            powers / unpacked(found["total"])[..., None], tensors[f"{place}.weights"], rtol=1e-4, atol=1e-7
        )
        assert (powers[~seen] == 0).all()


def test_scores_too_large_for_reading_are_shifted_and_weights_stay(recording: Recording) -> None:
    scores = {f"{p}.scores": recording.tensors[f"{p}.scores"] + np.float32(300) for p in recording.places}
    for found in payload(_with(recording, scores))["views"]["query"]["places"]:
        assert found["score"] == "other" and (unpacked(found["shift"]) > 200).all()
        weights = unpacked(found["powers"]) / unpacked(found["total"])[..., None]
        np.testing.assert_allclose(weights, recording.tensors[f"{found['place']}.weights"], rtol=1e-3, atol=1e-5)


def test_heads_and_bias_add_up_to_the_output_and_gain_and_shift_to_the_norm(recording: Recording) -> None:
    tensors = recording.tensors
    for place in recording.places:
        total = tensors[f"{place}.projected"].sum(0) + tensors[f"{place}.bias"]
        np.testing.assert_allclose(total, tensors[f"{place}.output"], rtol=1e-4, atol=1e-5)
        base = f"{place}.residual"
        standard = tensors[f"{base}.standard"]
        np.testing.assert_allclose(standard.mean(-1), 0, atol=1e-5)
        np.testing.assert_allclose(standard.var(-1), 1, atol=1e-3)
        normed = standard * tensors[f"{base}.gain"] + tensors[f"{base}.shift"]
        np.testing.assert_allclose(normed, tensors[f"{base}.output"], rtol=1e-4, atol=1e-5)


def test_the_walk_is_the_papers_way(made: dict[str, Any]) -> None:
    stages = made["views"]["walk"]["stages"]
    told = [(s["side"], s["layer"], s["kind"]) for s in stages]
    encoder = ["self", "residual", "feed_forward", "residual"]
    decoder = ["self", "residual", "cross", "residual", "feed_forward", "residual"]
    assert told == [
        ("encoder", None, "embedding"), ("encoder", None, "input"),
        *(("encoder", layer, kind) for layer in range(2) for kind in encoder),
        ("decoder", None, "embedding"), ("decoder", None, "input"),
        *(("decoder", layer, kind) for layer in range(2) for kind in decoder),
        ("", None, "probabilities"),
    ]  # fmt: skip
    assert [s["masked"] for s in stages if s["kind"] == "self"] == [False, False, True, True]
    assert all(s["scale"] == pytest.approx(128**0.5) for s in stages if s["kind"] == "embedding")
    # Nothing was added to anything but what came in.
    before = [s["before"] for s in stages if s["kind"] == "residual" and s["layer"] == 1 and s["side"] == "encoder"]
    assert before == ["encoder.0.feed_forward.residual.output", "encoder.1.self.residual.output"]


def test_sums_of_the_walk_add_up(recording: Recording, made: dict[str, Any]) -> None:
    summed = [s for s in made["views"]["walk"]["stages"] if s["kind"] in ("input", "residual")]
    assert len(summed) == 12
    for stage in summed:
        a, b, total = (recording.tensors[stage[key]] for key in ("before", "added", "sum"))
        np.testing.assert_allclose(a + b, total, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("variation", KINDS, ids=lambda v: v.name)
def test_every_kind_of_model_can_be_walked_through(variation: Variation) -> None:
    translator = translator_of(variation)
    recording = record(translator, "我爱水课")
    made = json.loads(json.dumps(payload(recording, translator), allow_nan=False))
    stages = made["views"]["walk"]["stages"]
    assert stages[-1]["kind"] == "probabilities"
    # Each tap belongs to one stage, or hands on what the stage before it made.
    named = [name for stage in stages for name in stage["tensors"]]
    assert len(named) == len(set(named)) and set(named) <= set(recording.tensors)
    assert "other" not in {stage["kind"] for stage in stages} - (
        {"other"} if variation.config.kind == "bert" else set()
    )
    assert len(made["views"]["next"]["steps"]) == len(predictions(recording))


@pytest.mark.parametrize(
    ("name", "score"), [("rnn-search", "other"), ("rnn-search-dot", "dot"), ("convs2s", "dot"), ("bert", "scaled")]
)
def test_how_a_score_is_made_is_found_by_computing_it(name: str, score: str) -> None:
    recording = record(translator_of(named(name)), "我爱水课", target=None if name == "bert" else "I love")
    places = payload(recording)["views"]["query"]["places"]
    assert {place["score"] for place in places} == {score}
    assert all((place["products"] is None) == (score == "other") for place in places)


def test_a_pre_norm_model_has_sums_and_no_norm_behind_them() -> None:
    recording = record(translator_of(named("pre-norm")), "我爱水课", target="I love")
    residuals = [s for s in payload(recording)["views"]["walk"]["stages"] if s["kind"] == "residual"]
    assert residuals and all(s["sum"] == s["result"] for s in residuals)
    assert not any(name.endswith(".standard") for name in recording.tensors)


def test_rows_of_the_table_and_positions_are_recorded(recording: Recording, translator: Translator) -> None:
    (model,) = translator.models
    ids = recording.streams["source"].ids()
    weight = model.source_embedding.weight.detach().numpy()
    assert (recording.tensors["encoder.embedding.row"] == weight[ids]).all()
    table = model.positions.table.numpy()
    assert (recording.tensors["decoder.position"] == table[: len(recording.streams["previous"].tokens)]).all()
    assert recording.axes["decoder.position"] == ("previous", "feature")


def test_without_heads_the_recording_is_another(translator: Translator, recording: Recording) -> None:
    heads = [("decoder.1.cross", head) for head in range(4)]
    off = record(translator, "我爱水课", target="I love easy courses", without_heads=heads)
    assert (off.tensors["decoder.1.cross.heads"] == 0).all()
    assert (off.tensors["encoder.output"] == recording.tensors["encoder.output"]).all()
    assert not np.allclose(off.tensors["logits"], recording.tensors["logits"])
    one = record(translator, "我爱水课", target="I love easy courses", without_heads=[("encoder.0.self", 2)])
    assert (one.tensors["encoder.0.self.heads"][2] == 0).all() and one.tensors["encoder.0.self.heads"][1].any()
    with pytest.raises(InputError, match=r"head 4 of encoder\.0\.self: expected one of .*encoder\.1\.self \(4\)"):
        record(translator, "我爱水课", without_heads=[("encoder.0.self", 4)])


def test_a_saved_recording_makes_the_same_payload(recording: Recording, tmp_path: Path) -> None:
    recording.save(tmp_path / "a.npz")
    assert payload(Recording.load(tmp_path / "a.npz")) == payload(recording)


def _with(recording: Recording, tensors: dict[str, np.ndarray]) -> Recording:
    return replace(recording, tensors=recording.tensors | tensors)
