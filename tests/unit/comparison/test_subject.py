"""A trained member as the measures see it: all of it by one path, whole test sets scored, some lines looked at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.conftest import without_shape_checks
from tests.support.copy_run import copy_settings, write_lines
from transduce.acceleration import native
from transduce.comparison import compare as comparing
from transduce.comparison import subject as subjects
from transduce.comparison.family import Budget, Planned, choose, plan
from transduce.comparison.measured import Measured, measure
from transduce.comparison.measures.influence import measure_influence
from transduce.comparison.measures.scores import measure_scores
from transduce.comparison.run import train_all
from transduce.comparison.subject import Subject, read_tests
from transduce.experiment import Experiment
from transduce.recipe import Watcher
from transduce.run_folder import read_json

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

NAMES = ("fnn_mean", "rnn", "seq2seq", "transformer")


@dataclass(frozen=True)
class Trained:
    base: Experiment
    planned: list[Planned]
    runs: list[Path]

    def subject(self, name: str) -> Subject:
        one = next(one for one in self.planned if one.name == name)
        return Subject(one, self.runs[self.planned.index(one)], read_tests(one.experiment))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Text without alignments and without 水, in another test set than the validation's."""
    folder = tmp_path_factory.mktemp("family")
    training = {"batch_tokens": 300, "update_tokens": 300, "max_updates": 30, "warmup": 5, "validate_every": 10,
                "save_every": 10, "log_every": 1}  # fmt: skip
    table = copy_settings(folder, pairs=211, training=training, validation={"sentences": 11})
    lines = [f"{' '.join(['red', 'cat', 'on', 'the', 'hill'] * (1 + i % 3))} ." for i in range(40)]
    test = write_lines(folder / "test.txt", lines)
    table["data"]["test"] = {"captions": {"source": test, "target": test}}
    base = Experiment.model_validate(table)
    with without_shape_checks():
        planned = plan(base, Budget(), choose(NAMES), folder / ".cache")
        runs, _ = train_all(planned, folder / "out", lambda _: Watcher())
    return Trained(base, planned, runs)


@pytest.mark.parametrize("name", NAMES)
def test_log_probabilities_do_not_depend_on_what_shares_a_batch(trained: Trained, name: str) -> None:
    subject = trained.subject(name)
    sources, targets = subject.sources[0][:9], subject.targets[0][5:14]
    batch = subject.task.batch(sources, targets, range(9))
    expected = subject.task.token_log_probabilities(subject.model, batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subjects, "_NUMBERS", 2 * 12 * subject.model.vocabulary)  # two rows of eleven tokens and the end
        found = subject.log_probabilities(sources, targets)
        assert [len(row) for row in found] == [len(row) for row in expected]
        for row, other in zip(found, expected, strict=True):
            assert row == pytest.approx(other, abs=1e-4)
        order = [i for i, *_ in subject.distributions(sources, targets)]
        assert sorted(order) == list(range(9)) and [len(sources[i]) for i in order] == sorted(map(len, sources))


def test_what_hangs_on_a_word_is_measured_of_any_model(trained: Trained) -> None:
    mean, rnn = (measure_influence(trained.subject(name)) for name in ("fnn_mean", "rnn"))
    assert len(mean) == len(rnn) == 40
    longest = mean[-1]
    assert longest.lost.shape[0] == 16
    # An average of words moves alike everywhere; a state is moved by nothing that comes later.
    torch.testing.assert_close(longest.moved, longest.moved[:, :1].expand_as(longest.moved), rtol=1e-3, atol=1e-5)
    assert float(rnn[-1].moved.tril(-1).abs().max()) < 1e-5 < float(rnn[-1].moved.diagonal().min())


def test_scores_are_those_of_the_whole_test_set(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the run recorded them: another record is another score, whatever the lines that are looked at come to."""
    monkeypatch.setattr(subjects, "MOST", 7)
    subject = trained.subject("transformer")
    assert (subject.tests[0].lines, len(subject.tests[0].sources), len(subject.outputs[0])) == (40, 7, 7)
    results = read_json(subject.run / "results.json")
    recorded = {score["name"]: score for score in results["tests"]["captions"]["scores"]}
    assert recorded["exact"]["signature"].endswith("lines:40")
    recorded["BLEU"]["value"], recorded["chrF2"]["value"], recorded["exact"]["value"] = 37.0, 53.0, 17.0
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (tmp_path / "journal.jsonl").write_bytes((subject.run / "journal.jsonl").read_bytes())
    subject.run = tmp_path
    subject.native_seconds = None
    found = measure_scores(subject)
    assert found.tests == {"captions": {"BLEU": 37.0, "chrF2": 53.0, "exact": 17.0}}
    assert found.signatures == [f"{name} {recorded[name]['signature']}" for name in ("BLEU", "chrF2")]


def test_without_test_sets_the_validation_text_is_scored(trained: Trained, tmp_path: Path) -> None:
    data = trained.base.data.model_copy(update={"test": {}})
    base = trained.base.model_copy(update={"data": data})
    (one,) = plan(base, Budget(), choose(["rnn"]), tmp_path / ".cache")
    assert one.experiment.data.test == {"validation": one.experiment.data.valid}
    assert [(test.name, test.lines) for test in read_tests(one.experiment)] == [("validation", 50)]


def test_all_are_computed_alike_and_native_code_is_timed_beside_that(trained: Trained) -> None:
    rnn, transformer = trained.subject("rnn"), trained.subject("transformer")
    assert transformer.model._native is None
    assert rnn.native_seconds is None
    assert (transformer.native_seconds is None) == (native.load() is None)
    assert measure_scores(rnn).native_sentences_per_second is None


def test_training_is_told_apart_from_validation(tmp_path: Path) -> None:
    tests = {"test": {"scores": [{"name": n, "value": 1.0, "signature": ""} for n in ("BLEU", "chrF2", "exact")]}}
    results = {"tests": tests, "updates": 20, "target_tokens": 1000, "training_seconds": 10.0}
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    first = {"update": 10, "target_tokens": 500, "loss": 2.0, "seconds": 4.0}
    last = {"update": 20, "target_tokens": 1000, "loss": 1.0, "seconds": 9.5}
    events: list[dict[str, Any]] = [
        {"event": "validation", **first, "took": 1.5, "bleu": 3.0},
        {"event": "update", **last},
        {"event": "validation", **last, "took": 0.5, "bleu": 7.0},
    ]
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events), encoding="utf-8")
    made: Any = SimpleNamespace(
        run=tmp_path, tests=[subjects.TestSet("test", ["a"] * 3, ["a"] * 3, [None] * 3, 3)], seconds=2.0,
        native_seconds=0.5, planned=SimpleNamespace(parameters=7),
    )  # fmt: skip
    found = measure_scores(made)
    assert (found.training_seconds, found.validation_seconds) == (8.0, 2.0)
    assert found.curve == [(500, 4.0, 2.0, 3.0), (1000, 8.0, 1.0, 7.0)]
    assert (found.sentences_per_second, found.native_sentences_per_second) == (1.5, 6.0)


def test_text_of_any_kind_makes_a_whole_comparison(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of its alignment, and nobody asks for 水."""
    monkeypatch.setattr(comparing, "measure_layers", list)
    monkeypatch.setattr(subjects, "MOST", 30)
    found = comparing.compare(trained.base, trained.planned, trained.runs, lambda _: None, demonstrations=False)
    assert [(m.alignment, m.context) for m in found.family] == [(None, None)] * 4
    assert [len(m.forgetting.kept) for m in found.family] == [4, 4, 2, 2]  # 5, 10 and 15 words
    assert any("“captions” 40. Scores are of all of them; outputs" in line for line in found.setting)
    assert any("All share one peak learning rate, 0.01" in line for line in found.setting)


def test_a_member_measured_twice_is_the_same(trained: Trained) -> None:
    """But for times: what is drawn is seeded."""

    def figures() -> Measured:
        return measure(trained.subject("seq2seq"), [])

    one, other = figures(), figures()
    assert (one.forgetting, one.order, one.lengths, one.recipe) == (
        other.forgetting, other.order, other.lengths, other.recipe)  # fmt: skip
