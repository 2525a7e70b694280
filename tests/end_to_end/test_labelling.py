"""One output for each input, by the same commands as translation: what goes in, what comes out, what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.command import InProcess
from tests.support.copy_run import copy_settings, load, sentences, write_lines
from transduce.errors import ConfigError, DataError, InputError, RunError
from transduce.experiment import Experiment
from transduce.experiment.load import to_toml
from transduce.recipe import Watcher, build_model, learn_tokenizers, resume, train
from transduce.run_folder import RunFolder
from transduce.training.journal import read_journal

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

MODELS: dict[str, dict[str, Any]] = {
    "rnn": {"kind": "rnn", "cell": "gru", "d_model": 24, "tie": "all", "dropout": 0.1},
    "mean": {"kind": "feed_forward", "input": "mean", "d_model": 13, "d_ff": 17},
    "concat": {"kind": "feed_forward", "input": "concat", "d_model": 13, "d_ff": 17, "max_positions": 60},
}
SHORT = {"batch_tokens": 300, "update_tokens": 600, "validate_every": 5, "save_every": 5, "log_every": 1}
LEARNING = {"max_updates": 300, "validate_every": 300, "save_every": 100, "learning_rate": 2e-2}


def experiment(folder: Path, model: str, training: dict[str, Any] | None = None, **settings: Any) -> Experiment:
    table = copy_settings(
        folder,
        pairs=211 if training is None else 3000,
        training=training or {**SHORT, "max_updates": 10, "decay": "inverse_sqrt"},
        validation={"sentences": 5},
    )
    return Experiment.model_validate({**table, "model": MODELS[model], **settings})


@pytest.fixture(scope="module")
def copier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recurrent network that has learned to copy."""
    folder = tmp_path_factory.mktemp("labeller")
    train(experiment(folder, "rnn", LEARNING), folder / "run")
    return folder / "run"


@pytest.mark.parametrize("model", MODELS)
def test_a_resumed_run_ends_as_one_that_went_through(tmp_path: Path, model: str) -> None:
    ends = []
    for name, updates in (("whole", 10), ("parts", 5)):
        short = {**SHORT, "max_updates": updates, "decay": "inverse_sqrt"}
        table = copy_settings(tmp_path / name, pairs=211, training=short, validation={"sentences": 5})
        train(Experiment.model_validate({**table, "model": MODELS[model]}), tmp_path / name / "run")
    resume(tmp_path / "parts/run", ["training.max_updates=10"])
    for name in ("whole", "parts"):
        ends.append((tmp_path / name / "run/checkpoints/step-10/weights.safetensors").read_bytes())
    assert ends[0] == ends[1]


def test_what_it_has_learned_comes_out(copier: Path) -> None:
    translator = load(copier)
    assert RunFolder.open(copier).experiment.task == "label"
    given = [*sentences(100, seed=5), "", " red  blue ", "cat\ndog bird\n"]
    found = translator.translate(given, without_letters="translate")
    assert sum(t.text == t.source for t in found) >= 0.97 * len(given)
    assert not any(t.truncated for t in found)
    scored = translator.score(given[:7], [t.text for t in found[:7]])
    for translation, row in zip(found, scored, strict=False):
        assert row.pieces == tuple(translation.text.split(" ")), "no place is left for an end mark"
        assert row.log_probability == pytest.approx(translation.score, abs=1e-4) and not row.cut
    (event,) = [e for e in read_journal(RunFolder.open(copier).journal) if e["event"] == "validation"]
    assert event["bleu"] > 90


def test_a_target_of_another_length_is_scored_as_far_as_it_goes(copier: Path) -> None:
    longer, shorter = load(copier).score(["red blue", "red blue cat"], ["red blue cat", "red"])
    assert longer.pieces == ("red", "blue") and longer.cut
    assert shorter.pieces == ("red", "</s>") and not shorter.cut


def test_the_commands_say_what_does_not_apply(cli: InProcess, copier: Path, tmp_path: Path) -> None:
    assert cli("translate", "--run", copier, "--beam", 1, "red blue").succeeded().lines == ["red blue"]
    for option in (("--beam", 8), ("--sample",), ("--nbest", 2), ("--max-extra", 3), ("--no-repeat-ngram", 3)):
        cli("translate", "--run", copier, *option, "red").refused("has no effect on the task", '"label"')
    cli("translate", "--run", copier, "--prefix", "red", "red").refused("no place of the output hears of another")
    source = write_lines(tmp_path / "source", ["red blue", "cat dog bird"])
    target = write_lines(tmp_path / "target", ["red blue", "cat dog bird and fish"])
    done = cli("evaluate", "--run", copier, "--test", source, target).succeeded()
    assert done.lines[-1] == "2 lines, one pass, the likeliest token at each place"
    assert "are longer than their source and cut, which loses 2 of 7 target tokens (28.6%)" in done.err
    done = cli("score", "--run", copier, source, target).succeeded()
    assert len(done.lines) == 2 and "1 of 2 targets are longer than this run can write" in done.err


class Ears(Watcher):
    def __init__(self) -> None:
        self.notices: list[str] = []

    def noticed(self, what: str) -> None:
        self.notices.append(what)


def pairs(folder: Path, name: str, sources: list[str], targets: list[str]) -> dict[str, Path]:
    ends = (("source", sources), ("target", targets))
    return {end: write_lines(folder / f"{name}.{end}", lines) for end, lines in ends}


def uneven(folder: Path, **changes: Any) -> Experiment:
    """200 pairs with 2 words for 3 and 200 with 3 for 2, held-out text of each."""
    table = copy_settings(folder, training={**SHORT, "max_updates": 2, "decay": "inverse_sqrt"})
    short, long = sentences(200, seed=3, longest=1), sentences(200, seed=4, longest=1)
    two, three = [f"{a} {b}" for a, b in zip(short, long, strict=True)], [f"{a} {a} {a}" for a in short]
    table["data"] |= {
        "train": [pairs(folder, "train", [*two, *three], [*three, *two])],
        "valid": pairs(folder, "valid", two[:3], three[:3]),
        "test": {"both": pairs(folder, "test", [*two[:2], three[0]], [*three[:2], two[0]])},
    }
    table["tokenizer"] = {"kind": "word", "minimum_count": 1}
    return Experiment.model_validate({**table, "model": MODELS["rnn"], **changes})


def test_what_the_task_costs_is_told_and_recorded(cli: InProcess, tmp_path: Path) -> None:
    sentence = (
        "one token out for each in: 200 of 400 targets (50.0%) are longer than their source and cut, which loses "
        "200 of 1,000 target tokens (20.0%); 200 of 1,000 source tokens (20.0%) are left with nothing to write"
    )
    ears = Ears()
    train(uneven(tmp_path), tmp_path / "run", ears)
    assert sentence in ears.notices
    figures = {
        "pairs": 400, "cut_targets": 200, "target_tokens": 1000, "lost_target_tokens": 200, "places": 1000,
        "idle_places": 200,
    }  # fmt: skip
    results = json.loads((tmp_path / "run/results.json").read_text(encoding="utf-8"))
    assert json.loads((tmp_path / "run/data.json").read_text(encoding="utf-8"))["task_cost"] == figures
    assert (results["task"], results["task_cost"]) == ("label", figures)
    test = results["tests"]["both"]
    assert test["task_cost"] == {
        "pairs": 3, "cut_targets": 2, "target_tokens": 8, "lost_target_tokens": 2, "places": 7, "idle_places": 1,
    }  # fmt: skip
    assert set(test["decoding"]) == {"max_source", "unknown", "without_letters"}
    state = RunFolder.open(tmp_path / "run").checkpoints()[-1].state()
    # Two tokens of three learn from a pair with a longer target, two and an end mark from one with a shorter.
    assert 2 < state["target_tokens"] / (state["source_tokens"] / 2.5) < 3
    (tmp_path / "experiment.toml").write_text(to_toml(uneven(tmp_path)), encoding="utf-8")
    assert sentence in cli("prepare", "--dry-run", tmp_path / "experiment.toml").succeeded().lines


def test_held_out_text_that_the_input_layer_has_no_room_for_is_told_before_training(tmp_path: Path) -> None:
    table = experiment(tmp_path, "concat").model_dump()
    table["data"]["filters"] |= {"max_length": 12}
    table["data"]["test"] = {"long": pairs(tmp_path, "long", ["red", "red " * 13], ["red", "red"])}
    table["model"] |= {"max_positions": 12}
    message = (
        r"long.*: pair 2 of the held-out text has a source of 13 tokens, more than the 12 that model\.max_positions"
    )
    with pytest.raises(DataError, match=message):
        train(Experiment.model_validate(table), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_text_that_the_input_layer_has_no_room_for_is_refused_by_number(tmp_path: Path) -> None:
    train(experiment(tmp_path, "concat"), tmp_path / "run")
    translator = load(tmp_path / "run")
    assert len(translator.translate(["red " * 60])) == 1
    with pytest.raises(InputError, match="text 2 has 61 tokens, more than the 60 of"):
        translator.translate(["red", "red " * 61])


def test_a_probe_beyond_the_places_of_its_source_is_refused(tmp_path: Path) -> None:
    def probing(prefix: str) -> Experiment:
        probe = {"source": "red blue", "prefix": prefix, "words": [" cat"]}
        return experiment(tmp_path, "rnn", validation={"sentences": 0, "probes": [probe]})

    train(probing("red"), tmp_path / "run")
    events = [e for e in read_journal(RunFolder.open(tmp_path / "run").journal) if e["event"] == "validation"]
    assert all(0 < e["probes"][0]["cat"] < 1 for e in events)
    with pytest.raises(
        ConfigError, match="'red blue cat' has 3 tokens, and on the task \"label\" 'red blue' has places"
    ):
        train(probing("red blue"), tmp_path / "other")


def test_an_ensemble_of_labellers_is_one_and_of_two_tasks_is_none(copier: Path, copy_run: Path, tmp_path: Path) -> None:
    given = sentences(7, seed=6)
    one, both = (load(*runs).translate(given) for runs in ((copier,), (copier, copier)))
    assert [t.text for t in one] == [t.text for t in both]
    assert [t.score for t in one] == pytest.approx([t.score for t in both], abs=1e-4)
    table = RunFolder.open(copy_run).experiment.model_dump(exclude={"task"})
    table["training"] |= {"max_updates": 1, "validate_every": 1, "save_every": 1}
    train(Experiment.model_validate({**table, "model": MODELS["rnn"]}), tmp_path / "run")
    with pytest.raises(RunError, match=r'was trained to "label" and .* to "translate": an ensemble needs one task'):
        load(copy_run, tmp_path / "run")


def test_word_vectors_go_where_there_is_an_embedding(tmp_path: Path) -> None:
    vector = [i / 64 for i in range(13)]
    (tmp_path / "vectors.txt").write_text(f"1 13\nred {' '.join(map(str, vector))}\n", encoding="utf-8")
    given = experiment(tmp_path, "mean", source_vectors=tmp_path / "vectors.txt")
    tokenizers = learn_tokenizers(given)
    row = build_model(given, tokenizers).source_embedding(torch.tensor(tokenizers.source.encode("red")))  # type: ignore[operator]
    assert row[0].tolist() == pytest.approx(vector, rel=1e-5)
    with pytest.raises(ConfigError, match=r'target_vectors: model\.kind = "feed_forward" has no target embedding'):
        build_model(experiment(tmp_path, "mean", target_vectors=tmp_path / "vectors.txt"), tokenizers)
