"""The family is of one size, on one text, with one budget; what was begun is gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.copy_run import copy_settings
from transduce.comparison.family import (
    FAMILY,
    TOLERANCE,
    Budget,
    Planned,
    choose,
    plan,
    tokens_per_update,
)
from transduce.comparison.measures.lengths import measure_lengths
from transduce.comparison.measures.order import measure_order
from transduce.comparison.run import Place, train_all
from transduce.comparison.subject import Subject, TestSet
from transduce.errors import ConfigError, RunError
from transduce.experiment import Experiment
from transduce.models import RnnConfig
from transduce.models.outline import count_parameters
from transduce.recipe import Watcher, learn_tokenizers, prepare_data
from transduce.run_folder.files import read_json
from transduce.training.state import TrainingState

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


def base(folder: Path, **filters: Any) -> Experiment:
    training = {"batch_tokens": 300, "update_tokens": 300, "max_updates": 100, "warmup": 20, "validate_every": 10,
                "save_every": 10, "log_every": 1}  # fmt: skip
    settings = copy_settings(folder, pairs=211, training=training)
    settings["data"]["filters"] |= filters
    return Experiment.model_validate(settings)


def planned(folder: Path, *names: str, tokens: int | None = 4000) -> list[Planned]:
    return plan(base(folder), Budget(tokens), choose(names), folder / ".cache")


def test_all_have_as_many_parameters_as_the_experiments_own_model_which_is_one_of_them(tmp_path: Path) -> None:
    found = planned(tmp_path)
    experiment = base(tmp_path)
    assert [one.name for one in found] == [member.name for member in FAMILY]
    own = found[-1]
    assert own.experiment.model == experiment.model
    assert all(abs(one.parameters / own.parameters - 1) <= TOLERANCE for one in found)
    for field in ("data", "tokenizer", "training"):
        assert all(getattr(one.experiment, field) == getattr(own.experiment, field) for one in found)


def test_parameters_are_those_of_the_model_that_is_built(tmp_path: Path) -> None:
    for one in planned(tmp_path, "rnn_search", "fnn_concat"):
        size = learn_tokenizers(one.experiment).source.size
        assert sum(p.numel() for p in one.experiment.model.build(size, size).parameters()) == one.parameters


def test_the_recipe_is_the_models_own_settings_and_its_rate(tmp_path: Path) -> None:
    found = {one.name: one for one in planned(tmp_path)}
    for one in found.values():
        model, recipe = one.experiment.model, one.recipe
        assert (recipe.width, recipe.cell) == (model.d_model, getattr(model, "cell", None))  # type: ignore[union-attr]
        assert all(getattr(model, name) == value for name, value in recipe.others.items())
        training = one.experiment.training
        assert (recipe.peak_rate, recipe.decay) == (training.learning_rate, training.decay) == (0.01, "linear")
    layers = [one.recipe.layers for one in found.values()]
    assert layers == ["1", "1", "1", "1", "1", "1 + 1", "1 + 1", "3 + 3", "4 + 4", "2 + 2"]
    # What the label says of a member is so.
    reversed_, attention = found["seq2seq"], found["rnn_search"]
    assert reversed_.label == "LSTM, encoder-decoder (source reversed)" and reversed_.recipe.cell == "lstm"
    assert reversed_.recipe.others == {"reverse_source": True} and reversed_.experiment.model.reads_backwards
    assert attention.label == "GRU with attention" and attention.recipe.cell == "gru"
    assert [name for name, one in found.items() if one.experiment.model.reads_backwards] == ["seq2seq"]


def test_without_a_rate_the_papers_formula_gives_each_its_own(tmp_path: Path) -> None:
    experiment = base(tmp_path)
    training = experiment.training.model_copy(update={"learning_rate": 0.0})
    formula = experiment.model_copy(update={"training": training})
    for one in plan(formula, Budget(), choose(["rnn", "transformer"]), tmp_path / ".cache"):
        expected = one.experiment.model.d_model**-0.5 * 20**-0.5  # type: ignore[union-attr]
        assert one.recipe.peak_rate == pytest.approx(expected)


def test_no_other_width_comes_nearer(tmp_path: Path) -> None:
    one, own = planned(tmp_path, "rnn", "transformer")
    size = learn_tokenizers(base(tmp_path)).source.size
    model = one.experiment.model
    assert isinstance(model, RnnConfig)
    others = (model.model_copy(update={"d_model": model.d_model + step}) for step in (-2, 2))
    off = abs(one.parameters - own.parameters)
    assert all(abs(count_parameters(other, size, size) - own.parameters) > off for other in others)


def test_a_budget_of_tokens_is_kept_and_what_goes_by_updates_goes_along(tmp_path: Path) -> None:
    (one,) = planned(tmp_path, "transformer")
    experiment = base(tmp_path)
    data = prepare_data(experiment, learn_tokenizers(experiment), tmp_path / ".cache")
    training = one.experiment.training
    assert training.max_updates * tokens_per_update(experiment, data) == pytest.approx(4000, rel=0.05)
    share = training.max_updates / 100
    assert 0 < share < 1 and training.warmup == pytest.approx(20 * share, abs=1)
    assert training.save_every == training.validate_every == pytest.approx(10 * share, abs=1)


def test_a_budget_of_minutes(tmp_path: Path) -> None:
    (one,) = plan(base(tmp_path), Budget(minutes=0.25), choose(["rnn"]), tmp_path / ".cache")
    training = one.experiment.training
    assert (training.max_minutes, training.decay, training.warmup) == (0.25, "inverse_sqrt", 20)


def test_no_budget_leaves_the_experiments(tmp_path: Path) -> None:
    (one,) = planned(tmp_path, "rnn", tokens=None)
    assert one.experiment.training == base(tmp_path).training


def test_what_the_family_cannot_share_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--only elman: expected one of fnn_mean, .*transformer"):
        choose(["elman"])
    vectors = base(tmp_path).model_copy(update={"source_vectors": tmp_path / "v.txt"})
    with pytest.raises(ConfigError, match=r"source_vectors: .*leave it out"):
        plan(vectors, Budget(), FAMILY, tmp_path / ".cache")


class _Stops(Exception):
    pass


class _Stopping(Watcher):
    """Ends the process, as it were, at an update."""

    def __init__(self, at: int) -> None:
        self.at = at

    def updated(self, state: TrainingState, loss: float, rate: float, updates: int) -> None:
        if state.update == self.at:
            raise _Stops


def test_a_comparison_that_was_killed_goes_on_and_makes_nothing_twice(tmp_path: Path) -> None:
    family = planned(tmp_path, "fnn_mean", "rnn")
    places: list[Place] = []

    def watch(place: Place) -> Watcher:
        places.append(place)
        return _Stopping(11 if place.number == 2 else 0)

    def quietly(place: Place) -> Watcher:
        places.append(place)
        return Watcher()

    with pytest.raises(_Stops):
        train_all(family, tmp_path / "out", watch)
    finished = (tmp_path / "out/fnn_mean/results.json").read_bytes()
    assert not (tmp_path / "out/rnn/results.json").exists()
    places.clear()
    folders, interrupted = train_all(family, tmp_path / "out", quietly)
    assert interrupted is None and [place.reused for place in places] == [True, False]
    assert (folders[0] / "results.json").read_bytes() == finished
    whole, _ = train_all(family[1:], tmp_path / "whole", lambda _: Watcher())
    hashes = [read_json(folder / "results.json")["weights_sha256"] for folder in (folders[1], whole[0])]
    assert hashes[0] == hashes[1]
    with pytest.raises(RunError, match=r"fnn_mean: trained with another training\.max_updates.*another folder"):
        train_all(planned(tmp_path, "fnn_mean", tokens=2000), tmp_path / "out", watch)


def test_a_length_beyond_all_is_tried_whatever_the_training_text_was_cut_to(tmp_path: Path) -> None:
    """Held-out text has up to 10 words, and the concatenated network room for them: 9 words would show nothing."""
    experiment = base(tmp_path, max_length=3, max_dropped=1.0)
    (one,) = family = plan(experiment, Budget(500), choose(["fnn_concat"]), tmp_path / ".cache")
    assert one.longest == one.experiment.model.longest == 10 and one.experiment.data.filters.max_length == 3
    folders, _ = train_all(family, tmp_path / "out", lambda _: Watcher())
    lines = (tmp_path / "valid.txt").read_text(encoding="utf-8").split("\n")[:5]
    found = measure_lengths(Subject(one, folders[0], [TestSet("test", lines, lines, [None] * 5, 5)]))
    assert (found.tried, found.accepted) == (30, False)


def test_an_average_of_words_is_blind_to_their_order_and_a_recurrent_state_is_not(tmp_path: Path) -> None:
    family = planned(tmp_path, "fnn_mean", "fnn_concat", "rnn")
    folders, _ = train_all(family, tmp_path / "out", lambda _: Watcher())
    lines = (tmp_path / "valid.txt").read_text(encoding="utf-8").split("\n")[:20]
    tests = [TestSet("test", lines, [f"{line} red blue" for line in lines], [None] * len(lines), len(lines))]
    mean, concat, rnn = (Subject(one, run, tests) for one, run in zip(family, folders, strict=True))
    blind = measure_order(mean)
    assert blind.unchanged_reversed == blind.unchanged_shuffled == 1 and blind.effect < 1e-5
    assert measure_order(rnn).effect > 1e-3 and measure_order(concat).effect > 1e-3
    found = [measure_lengths(one) for one in (mean, concat, rnn)]
    assert [lengths.accepted for lengths in found] == [True, False, True]
    # One out for each in: never more.
    assert all((lengths.longer_references, lengths.longer_outputs) == (len(lines), 0.0) for lengths in found)
    assert all(lengths.cut_references == 1 for lengths in found)
