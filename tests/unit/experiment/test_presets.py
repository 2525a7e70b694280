"""Presets: chosen by corpus size with a reason, filled in under what the experiment says."""

from __future__ import annotations

from typing import Any

import pytest

from transduce.experiment import Experiment, TrainingConfig
from transduce.experiment.load import parse, to_toml
from transduce.experiment.presets import PRESETS, choose, fill_in, merge
from transduce.models import Seq2SeqConfig, TransformerConfig

DATA: dict[str, Any] = {
    "train": [{"source": "/a/train.zh", "target": "/a/train.en", "weight": 2.0}, {"tsv": "/a/more.tsv"}],
    "valid": {"jsonl": "/a/valid.jsonl", "source_field": "zh", "target_field": "en"},
    "test": {"news": {"builtin": "demo-test"}},
}


@pytest.mark.parametrize(
    ("pairs", "name", "reason"),
    [
        (0, "tiny", "0 training pairs are under 100,000"),
        (99_999, "tiny", "99,999 training pairs are under 100,000"),
        (100_000, "small", "100,000 training pairs are under 1,000,000"),
        (999_999, "small", "999,999 training pairs are under 1,000,000"),
        (1_000_000, "base", "1,000,000 training pairs are enough"),
        (10**9, "base", "1,000,000,000 training pairs are enough"),
    ],
)
def test_the_preset_follows_from_the_number_of_pairs(pairs: int, name: str, reason: str) -> None:
    chosen, why = choose(pairs)
    assert chosen == name
    assert why.startswith(reason)


def test_base_and_big_are_the_papers_models() -> None:
    base, big = (Experiment.model_validate({"preset": name, "data": DATA}) for name in ("base", "big"))
    m = base.model
    assert (m.encoder_layers, m.decoder_layers, m.d_model, m.d_ff, m.heads, m.dropout) == (6, 6, 512, 2048, 8, 0.1)
    m = big.model
    assert (m.encoder_layers, m.decoder_layers, m.d_model, m.d_ff, m.heads, m.dropout) == (6, 6, 1024, 4096, 16, 0.3)
    for experiment in (base, big):
        t = experiment.training
        assert experiment.tokenizer.vocabulary == 37000
        assert (t.adam_beta1, t.adam_beta2, t.adam_epsilon) == (0.9, 0.98, 1e-9)
        assert (t.warmup, t.learning_rate, t.label_smoothing, t.clip_norm) == (4000, 0, 0.1, 0)
        assert t.update_tokens == 25000
    assert (base.training.average, base.training.max_updates) == (5, 100_000)
    assert (big.training.average, big.training.max_updates) == (20, 300_000)


def test_what_the_experiment_says_lies_over_the_preset() -> None:
    experiment = Experiment.model_validate({"preset": "big", "data": DATA, "model": {"d_ff": 77}})
    assert experiment.model.d_ff == 77
    assert experiment.model.d_model == PRESETS["big"]["model"]["d_model"] == 1024


@pytest.mark.parametrize("name", PRESETS)
def test_the_sizes_of_a_preset_are_the_transformers_and_its_recipe_is_every_models(name: str) -> None:
    ours, theirs = (
        Experiment.model_validate({"preset": name, "data": DATA, "model": model})
        for model in ({}, {"kind": "seq2seq", "layers": 3})
    )
    assert theirs.model == Seq2SeqConfig(layers=3)
    assert theirs.model_dump(exclude={"model"}) == ours.model_dump(exclude={"model"})
    given = Experiment.model_validate({"preset": name, "data": DATA, "model": Seq2SeqConfig(layers=3)})
    assert given == theirs and parse(to_toml(given), "there") == given


def test_a_models_settings_say_whether_a_presets_sizes_are_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def sizes(**model: Any) -> dict[str, Any]:
        return fill_in("tiny", {"model": model})["model"]

    transformer = {"kind": "transformer", **PRESETS["tiny"]["model"]}
    assert sizes() == sizes(kind="transformer") == transformer and sizes(kind="seq2seq") == {"kind": "seq2seq"}
    monkeypatch.setattr(Seq2SeqConfig, "takes_preset_sizes", True)
    monkeypatch.setattr(TransformerConfig, "takes_preset_sizes", False)
    assert sizes(kind="seq2seq") == transformer | {"kind": "seq2seq"} and sizes() == {}
    # What is no kind at all is told when the settings are checked.
    assert sizes(kind=["no", "kind"]) == {"kind": ["no", "kind"]}


def test_merge_goes_table_by_table_and_changes_neither() -> None:
    under = {"a": {"x": 1, "y": 2}, "b": 3, "c": {"z": 4}}
    over = {"a": {"y": 5, "w": {"v": 6}}, "b": {"u": 7}, "c": 8}
    assert merge(under, over) == {"a": {"x": 1, "y": 5, "w": {"v": 6}}, "b": {"u": 7}, "c": 8}
    assert under == {"a": {"x": 1, "y": 2}, "b": 3, "c": {"z": 4}}
    assert over == {"a": {"y": 5, "w": {"v": 6}}, "b": {"u": 7}, "c": 8}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_survives_toml(name: str) -> None:
    experiment = Experiment.model_validate(
        {
            "preset": name,
            "name": "añejo “北京” \\ \t",
            "data": DATA,
            "validation": {"probes": [{"source": "我爱水课", "prefix": "I love", "words": [" easy", ' "water"']}]},
            "source_vectors": "/a/vectors.txt",
        }
    )
    assert parse(to_toml(experiment), "there") == experiment


def test_toml_holds_every_key_so_that_later_presets_change_no_old_run() -> None:
    experiment = Experiment.model_validate({"preset": "tiny", "data": DATA, "model": {"d_k": 5, "d_v": 7}})
    table = experiment.model_dump(mode="json", exclude_none=True)
    for preset in PRESETS:
        table["preset"] = preset
        other = Experiment.model_validate(table)
        assert other.model_dump(exclude={"preset"}) == experiment.model_dump(exclude={"preset"})


def test_a_task_has_its_own_model_and_settings_unless_others_are_given() -> None:
    data = {"train": [{"text": "t"}], "valid": {"text": "t"}}
    mask, generate = (Experiment.model_validate({"task": task, "data": data}) for task in ("mask", "generate"))
    assert (mask.model.kind, generate.model.kind) == ("bert", "gpt")
    assert mask.training.label_smoothing == generate.training.label_smoothing == 0
    assert mask.training.warmup == TrainingConfig().warmup
    # The same follows from the model alone.
    assert Experiment.model_validate({"model": {"kind": "gpt"}, "data": data}) == generate
    smoothed = Experiment.model_validate({"task": "mask", "data": data, "training": {"label_smoothing": 0.2}})
    assert smoothed.training.label_smoothing == 0.2
    pairs = {"train": [{"tsv": "t"}], "valid": {"tsv": "t"}}
    classify = Experiment.model_validate({"task": "classify", "data": pairs, "preset": "tiny"})
    assert (classify.model.kind, classify.model.tie, classify.model.layers) == ("bert", "none", 12)
    assert (classify.tokenizer.joint, classify.tokenizer.target_kind) == (False, "line")
    assert classify.tokenizer.vocabulary == PRESETS["tiny"]["tokenizer"]["vocabulary"]
    assert classify.data.filters.max_ratio > 1e6 and classify.decoding.without_letters == "translate"
    assert Experiment.model_validate({"data": pairs}).training.label_smoothing == 0.1
