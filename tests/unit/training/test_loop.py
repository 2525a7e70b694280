"""The training loop: what an update learns from, what is counted, when it stops."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.copy_run import tiny_experiment
from transduce.data.batching import Update
from transduce.errors import TrainingError
from transduce.experiment import Experiment
from transduce.models.contract import Model
from transduce.recipe import Watcher, train
from transduce.run_folder import RunFolder
from transduce.training.distributed import World
from transduce.training.journal import read_journal
from transduce.training.loop import Trainer
from transduce.training.schedule import learning_rate
from transduce.training.state import TrainingState
from transduce.training.validation import Validation, Validator

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


class Ears(Watcher):
    """Notes what it hears; each note is a number of updates."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.validations: list[int] = []
        self.saves: list[int] = []

    def updated(self, state: TrainingState, loss: float, rate: float, updates: int) -> None:
        self.losses.append(loss)
        self.rates.append(rate)

    def validated(self, state: TrainingState, validation: Validation, improved: bool) -> None:
        self.validations.append(state.update)

    def saved(self, state: TrainingState, snapshot: Any) -> None:
        self.saves.append(state.update)


def updates_of(monkeypatch: pytest.MonkeyPatch) -> list[Update]:
    """Every update that a trainer learns from, from here on."""
    seen: list[Update] = []
    original = Trainer._update

    def noting(self: Trainer, update: Update) -> torch.Tensor:
        seen.append(update)
        return original(self, update)

    monkeypatch.setattr(Trainer, "_update", noting)
    return seen


def weights(run: Path) -> dict[str, torch.Tensor]:
    return RunFolder.open(run).weights("last").tensors("weights")


def test_a_run_is_complete(tmp_path: Path) -> None:
    experiment = tiny_experiment(tmp_path, validate_every=10)
    ears = Ears()
    outcome = train(experiment, tmp_path / "run", ears)
    assert outcome.reason == "20 updates were made (training.max_updates)"
    assert (outcome.signal, outcome.tests) == (0, [])
    assert ears.validations == [10, 20]
    assert ears.saves == [5, 10, 15, 20]
    assert ears.rates == [learning_rate(update, 12, experiment.training) for update in range(1, 21)]
    run = RunFolder.open(tmp_path / "run")
    assert run.experiment == experiment
    assert [s.folder.name for s in run.checkpoints()] == ["step-10", "step-15", "step-20"], "the last three are kept"
    assert run.weights("average").state() == {"updates": [10, 15, 20]}
    assert (run.path / "curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    events = read_journal(run.journal)
    assert [e["loss"] for e in events if e["event"] == "update"] == ears.losses
    assert [e["update"] for e in events if e["event"] == "validation"] == [10, 20]

    results = json.loads((run.path / "results.json").read_text(encoding="utf-8"))
    state = TrainingState.from_json(run.checkpoints()[-1].state(), "")
    assert results["updates"] == 20 and results["seed"] == 1 and results["finished"] == outcome.reason
    assert results["training_flops"] == state.flops > 1e6
    assert results["source_tokens"] == results["target_tokens"] == state.target_tokens
    assert sorted(results["data_sha256"]) == ["train", "valid"]
    assert results["parameters"] == sum(t.numel() for t in weights(run.path).values())
    report = json.loads((run.path / "data.json").read_text(encoding="utf-8"))["report"]["corpora"][0]
    assert (report["read"], report["kept"]) == (211, 211)


def test_the_journal_says_how_long_each_validation_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the speed of training can be told without them, though their time is part of the whole."""
    validate = Validator.__call__

    def slowly(self: Validator, model: Model) -> Validation:
        time.sleep(0.3)
        return validate(self, model)

    monkeypatch.setattr(Validator, "__call__", slowly)
    train(tiny_experiment(tmp_path, validate_every=10), tmp_path / "run")
    took = [e["took"] for e in read_journal(tmp_path / "run/journal.jsonl") if e["event"] == "validation"]
    whole = json.loads((tmp_path / "run/results.json").read_text(encoding="utf-8"))["training_seconds"]
    assert len(took) == 2 and min(took) >= 0.3 and whole >= round(sum(took), 1)


def test_counted_operations_are_about_six_per_weight_and_token(tmp_path: Path) -> None:
    """Two for the forward pass, four for the backward: of a model whose embedding is also its projection."""
    train(tiny_experiment(tmp_path, max_updates=1), tmp_path / "run")
    state = RunFolder.open(tmp_path / "run").checkpoints()[-1].state()
    parameters = sum(t.numel() for t in weights(tmp_path / "run").values())
    # Each side's tokens pass through about half of the weights.
    assert 2 * parameters < state["flops_per_token"] < 6 * parameters
    assert state["flops"] > state["flops_per_token"] * state["target_tokens"]


def test_the_same_seed_gives_the_same_run_and_another_another(tmp_path: Path) -> None:
    found = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(tiny_experiment(tmp_path, max_updates=5, seed=seed), tmp_path / name)
        found.append(weights(tmp_path / name))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
    assert not all(torch.equal(found[0][name], found[2][name]) for name in found[0])


@pytest.mark.parametrize(
    ("settings", "reason", "updates"),
    [
        ({"max_epochs": 2}, "2 epochs were read (training.max_epochs)", None),
        ({"max_minutes": 1e-9}, "1e-09 minutes have passed (training.max_minutes)", 1),
        # Loss cannot fall by 10: the first validation is the best, two more are none.
        ({"patience": 2, "min_change": 10.0, "validate_every": 3}, "2 validations in a row", 9),
    ],
)
def test_reasons_to_stop(tmp_path: Path, settings: dict[str, Any], reason: str, updates: int | None) -> None:
    outcome = train(tiny_experiment(tmp_path, **settings), tmp_path / "run")
    assert outcome.reason.startswith(reason)
    state = RunFolder.open(tmp_path / "run").checkpoints()[-1].state()
    assert state["update"] == updates or (updates is None and (state["epoch"], state["index"]) == (2, 0))


def test_case_80_one_count_per_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch's end, a save, the last update and a validation that is due: all on one update."""
    seen = updates_of(monkeypatch)
    train(tiny_experiment(tmp_path / "a", max_epochs=1), tmp_path / "a/run")
    epoch = len(seen)
    ears = Ears()
    experiment = tiny_experiment(
        tmp_path / "b", validate_every=epoch, save_every=epoch, max_epochs=2, patience=9, min_change=10.0
    )
    train(experiment, tmp_path / "b/run", ears)
    assert ears.validations == [epoch, 2 * epoch]
    state = RunFolder.open(tmp_path / "b/run").checkpoints()[-1].state()
    assert (state["stale"], state["best_update"]) == (1, epoch)
    assert ears.saves == [epoch, 2 * epoch]


@pytest.mark.parametrize("accumulate", [2, 3])
def test_case_82_accumulated_batches_equal_one_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accumulate: int
) -> None:
    """Each token counts the same, however few are in its micro-batch. Without dropout, which differs."""
    settings = tiny_experiment(tmp_path).model_dump()
    settings["model"]["dropout"] = 0.0
    settings["training"] |= {"max_updates": 3, "save_every": 1, "batch_tokens": 300, "update_tokens": 300 * accumulate}
    experiment = Experiment.model_validate(settings)
    seen = updates_of(monkeypatch)
    train(experiment, tmp_path / "parts")
    assert len(seen[0].micro_batches) == len(seen[1].micro_batches) == accumulate
    sizes = [len(part) for update in seen for part in update.micro_batches]
    assert len(set(sizes)) > 1, "the parts differ in size, so that a mean of means would differ"

    plan = [tuple(u.micro_batches) for u in seen]
    monkeypatch.setattr(
        "transduce.data.batching.Sampler.epoch_plan", lambda self, epoch: [(np.concatenate(parts),) for parts in plan]
    )
    train(experiment, tmp_path / "whole")
    one, other = (RunFolder.open(tmp_path / name) for name in ("parts", "whole"))
    losses = [[e["loss"] for e in read_journal(run.journal) if e["event"] == "update"] for run in (one, other)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    # The first moments after one update are the gradients: Adam's root would blow up rounding in the weights.
    for name, tensor in one.checkpoints()[0].tensors("optimizer").items():
        torch.testing.assert_close(other.checkpoints()[0].tensors("optimizer")[name], tensor, rtol=1e-5, atol=1e-8)


def test_case_83_the_last_update_of_an_epoch_counts_its_own_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = updates_of(monkeypatch)
    batches = [np.array(part) for part in ([0, 1, 2], [3, 4], [5, 6, 7], [8, 9], [10])]
    monkeypatch.setattr(
        "transduce.data.batching.Sampler.epoch_plan",
        lambda self, epoch: [tuple(batches[i : i + 2]) for i in range(0, 5, 2)],
    )
    train(tiny_experiment(tmp_path, max_epochs=1, save_every=1), tmp_path / "run")
    assert [len(update.micro_batches) for update in seen] == [2, 2, 1]
    assert Counter(int(i) for u in seen for part in u.micro_batches for i in part) == Counter(range(11))
    run = RunFolder.open(tmp_path / "run")
    tokens = [snapshot.state()["target_tokens"] for snapshot in run.checkpoints()]
    lines = (tmp_path / "train.txt").read_text(encoding="utf-8").split("\n")
    lengths = [len(line.split(" ")) + 1 for line in lines]
    assert tokens == [sum(lengths[:5]), sum(lengths[:10]), sum(lengths[:11])]
    # A loss that was divided by other tokens would be far from that of a guess, log V.
    losses = [e["loss"] for e in read_journal(run.journal) if e["event"] == "update"]
    assert losses == pytest.approx([np.log(run.tokenizers.target.size)] * 3, rel=0.25)


def test_a_loss_that_is_not_finite_names_its_lines_and_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = updates_of(monkeypatch)
    with pytest.raises(TrainingError) as caught:
        train(tiny_experiment(tmp_path, learning_rate=1e30, warmup=1, save_every=1), tmp_path / "run")
    assert caught.value.exit_code == 1
    message = str(caught.value)
    assert message.startswith("the loss is nan in epoch 1, update 2 of it")
    first = [int(i) + 1 for i in np.concatenate(seen[-1].micro_batches)[:5]]
    assert f"(lines {', '.join(map(str, first))} of {tmp_path}/train.txt" in message
    run = RunFolder.open(tmp_path / "run")
    assert [s.folder.name for s in run.checkpoints()] == ["step-1"]
    assert f"the last good checkpoint is {run.path / 'checkpoints/step-1'}" in message
    assert all(torch.isfinite(tensor).all() for tensor in weights(run.path).values())


def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path) -> None:
    """The update that spoils them has a finite loss itself."""
    with pytest.raises(TrainingError, match=r"a weight is no longer finite at update 1; the last good .* is none yet"):
        train(tiny_experiment(tmp_path, learning_rate=1e38, warmup=1, save_every=1), tmp_path / "run")
    assert RunFolder.open(tmp_path / "run").checkpoints() == []


def test_numbers_go_to_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    train(tiny_experiment(tmp_path, max_updates=2, tensorboard=True), tmp_path / "run")
    (events,) = (tmp_path / "run/tensorboard").iterdir()
    content = events.read_bytes()
    assert b"update/loss" in content and b"validation/loss" in content


def test_a_signal_that_comes_after_the_look_for_one_still_saves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    look = World.agree

    def late(self: World, flags: Iterable[bool], *, patient: bool = False) -> list[bool]:
        nonlocal looked
        looked += 1
        seen = look(self, flags, patient=patient)
        if looked == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return seen

    monkeypatch.setattr(World, "agree", late)
    outcome = train(tiny_experiment(tmp_path, max_updates=50, save_every=1000), tmp_path / "run")
    assert outcome.signal == signal.SIGTERM
    (snapshot,) = RunFolder.open(tmp_path / "run").checkpoints()
    assert snapshot.state()["update"] == 4
