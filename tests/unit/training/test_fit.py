"""`training.memory = "fit"` where the memory is played: the largest batches that fit, and nothing else changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.support.copy_run import tiny_experiment
from tests.unit.training.test_loop import updates_of
from tests.unit.training.test_resume import Killed, Stopper, content, kill, nothing
from transduce.errors import ConfigError
from transduce.experiment import Experiment
from transduce.recipe import resume, train
from transduce.run_folder import RunFolder
from transduce.tasks.translate import Translate
from transduce.training import fit as fit_module
from transduce.training.fit import _largest
from transduce.training.journal import read_journal
from transduce.training.loop import Trainer
from transduce.training.room import Room

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

PER_PLACE = 2000
"""Bytes that a place of a batch takes on the machine that is played; its parameters take none."""


class Machine:
    """One where batches take `PER_PLACE` bytes for each place of their longer side, and nothing else takes any."""

    def __init__(self, patch: pytest.MonkeyPatch, places: int) -> None:
        """It has room for so many places, a tenth of it spare."""
        self.room = round(places * PER_PLACE / (1 - fit_module.SPARE))
        self.tried: list[int] = []
        original = fit_module._Trial._update

        def update(trial: Any, examples: np.ndarray) -> None:
            longest = max(int(lengths[examples].max()) + 1 for lengths in trial.lengths.values())
            self.tried.append(len(examples) * longest)
            assert self.tried[-1] * PER_PLACE <= self.room, "the system would have killed the process"
            original(trial, examples)

        patch.setattr(fit_module._Trial, "_update", update)
        patch.setattr(fit_module, "PARAMETER_BYTES", 0)
        patch.setattr(fit_module, "LEAST_SPARE", 0)
        patch.setattr(fit_module, "shared_room", lambda: Room(self.room, "the game's rule"))
        patch.setattr(fit_module, "own_room", lambda: None)
        patch.setattr(fit_module, "resident", lambda: 0)
        patch.setattr(fit_module, "forget_most", lambda: self.tried.clear())
        patch.setattr(fit_module, "most_resident", lambda: max(self.tried) * PER_PLACE)


def fitting(folder: Path, **training: Any) -> Experiment:
    """Of two passes of 300 tokens an update; no sentence has more than 60."""
    return tiny_experiment(folder, memory="fit", **training)


def losses(path: Path) -> list[dict[str, Any]]:
    """All that was learned: the journal but for times and for the batches that were found."""
    return [
        {k: v for k, v in event.items() if k not in ("seconds", "took")}
        for event in read_journal(path / "journal.jsonl")
        if event["event"] != "memory"
    ]


@given(st.integers(1, 5000), st.integers(0, 5000), st.integers(0, 20_000))
def test_the_largest_number_is_found_from_below(least: int, more: int, limit: int) -> None:
    most = least + more
    asked: list[int] = []

    def fits(number: int) -> bool:
        asked.append(number)
        return number <= limit

    found = _largest(fits, least, most)
    if limit < least:
        assert (found, asked) == (0, [least])
    else:
        assert least <= found <= min(limit, most)
        assert found >= min(limit, most) - max(1, found // 16)
        fitted = least
        for number in asked:
            assert number <= 2 * fitted, "no more than twice what is known to fit"
            fitted = max(fitted, number if number <= limit else 0)
        assert len(asked) < 20


def test_with_room_enough_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tiny_experiment(tmp_path)
    train(plain, tmp_path / "plain")
    machine = Machine(monkeypatch, places=400)
    ears = Stopper(0, nothing)
    train(fitting(tmp_path), tmp_path / "run", ears)
    assert max(machine.tried) > 250
    assert not ears.notices
    assert RunFolder.open(tmp_path / "run").experiment == fitting(tmp_path)
    assert losses(tmp_path / "run") == losses(tmp_path / "plain")
    before, after = (content(tmp_path / name) for name in ("plain", "run"))
    assert after.pop("journal")[1:] == before.pop("journal")
    assert after == before


def test_too_large_batches_become_smaller_and_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """150 places have room: four passes of them make the update that two of 300 would have made."""
    machine = Machine(monkeypatch, places=160)
    seen = updates_of(monkeypatch)
    ears = Stopper(0, nothing)
    train(fitting(tmp_path), tmp_path / "run", ears)
    found = RunFolder.open(tmp_path / "run").experiment.training
    assert (found.batch_tokens, found.update_tokens, found.accumulate) in ((150, 600, 4), (120, 600, 5))
    assert max(machine.tried) <= 160
    assert ears.notices == [
        f"training.batch_tokens is {found.batch_tokens} instead of 300, and an update adds up {found.accumulate} "
        'passes instead of 2 (training.memory = "fit"): ' + ears.notices[0].split('"fit"): ')[1]
    ]
    assert "MiB more, and the game's rule leaves 0 MiB" in ears.notices[0]
    assert {len(update.micro_batches) for update in seen if not update.last} == {found.accumulate}
    first = read_journal(tmp_path / "run/journal.jsonl")[0]
    assert first == {
        "event": "memory", "update": 0, "batch_tokens": found.batch_tokens, "accumulate": found.accumulate,
    }  # fmt: skip

    given = {"batch_tokens": found.batch_tokens, "update_tokens": found.update_tokens}
    train(tiny_experiment(tmp_path, **given), tmp_path / "given")
    assert losses(tmp_path / "run") == losses(tmp_path / "given")


def test_a_pass_larger_than_an_update_keeps_its_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass of 300 tokens was an update, though 100 were asked for: after that, several passes of 300 in all."""
    Machine(monkeypatch, places=160)
    train(fitting(tmp_path, update_tokens=100), tmp_path / "run")
    found = RunFolder.open(tmp_path / "run").experiment.training
    assert found.update_tokens == 300
    assert found.batch_tokens * found.accumulate == 300


@pytest.mark.parametrize("stopped_after", [1, 7])
def test_a_resumed_run_is_equal_and_makes_no_trial_after_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_after: int
) -> None:
    """After update 1 there is no checkpoint yet, so all begins anew, but for the number that was found."""
    machine = Machine(monkeypatch, places=160)
    train(fitting(tmp_path), tmp_path / "unbroken")
    with pytest.raises(Killed):
        train(fitting(tmp_path), tmp_path / "run", Stopper(stopped_after, kill))
    machine.tried.clear()
    resume(tmp_path / "run")
    assert bool(machine.tried) == (stopped_after == 1)
    assert content(tmp_path / "run") == content(tmp_path / "unbroken")
    assert RunFolder.open(tmp_path / "run").experiment == RunFolder.open(tmp_path / "unbroken").experiment


def test_a_run_killed_between_the_trial_and_the_first_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Machine(monkeypatch, places=160)
    train(fitting(tmp_path), tmp_path / "unbroken")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Trainer, "train", lambda self: kill())
        train(fitting(tmp_path), tmp_path / "run")
    resume(tmp_path / "run")
    assert content(tmp_path / "run") == content(tmp_path / "unbroken")


def test_where_not_one_sentence_fits_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, places=7)
    with pytest.raises(ConfigError) as caught:
        train(fitting(tmp_path), tmp_path / "run")
    message = str(caught.value)
    assert message.startswith("out of memory already in a batch of source ")
    assert "batches of 61 would take about" in message
    assert "lower data.filters.max_length" in message
    assert not machine.tried, "nothing was tried that could not fit"
    assert not (tmp_path / "run").exists(), "the next try finds the name free"


def test_memory_that_is_refused_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a card: an error is how it is known. Where the first batch of all gets it, the run is refused."""
    Machine(monkeypatch, places=10_000)
    limit = 200
    original = Translate.loss

    def scarce(self: Translate, model: Any, batch: Any, *rest: Any) -> torch.Tensor:
        if batch["source"].ids.numel() > limit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 13.00 GiB.")
        return original(self, model, batch, *rest)

    monkeypatch.setattr(Translate, "loss", scarce)
    ears = Stopper(0, nothing)
    train(fitting(tmp_path, max_updates=2), tmp_path / "run", ears)
    assert RunFolder.open(tmp_path / "run").experiment.training.batch_tokens in (200, 150)
    assert "the system refused the memory for batches of" in ears.notices[0]
    limit = 1
    with pytest.raises(ConfigError, match=r"already in a batch of source .* refused the memory for batches of 61; "):
        train(fitting(tmp_path), tmp_path / "other")


def test_another_error_is_none_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Machine(monkeypatch, places=400)

    def failing(*arguments: object) -> torch.Tensor:
        raise RuntimeError("shapes differ")

    monkeypatch.setattr(Translate, "loss", failing)
    with pytest.raises(RuntimeError, match="shapes differ"):
        train(fitting(tmp_path), tmp_path / "run")


def test_a_system_that_has_no_such_figures_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_here() -> Room:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(fit_module, "shared_room", none_here)
    with pytest.raises(ConfigError, match=r"lower training\.batch_tokens if need be"):
        train(fitting(tmp_path), tmp_path / "run")


class Card:
    """What of torch.cuda a trial on a card asks for."""

    def __init__(self) -> None:
        self.calls: list[Sequence[Any]] = []

    def set_per_process_memory_fraction(self, share: float, device: torch.device) -> None:
        self.calls.append((share, device.index))

    def empty_cache(self) -> None:
        self.calls.append(("emptied",))


def test_on_a_card_a_tenth_stays_free_while_it_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card()
    monkeypatch.setattr(torch, "cuda", card)
    gauge = fit_module._DeviceGauge(torch.device("cuda", 3))
    assert gauge.allows(10**9)
    gauge.took(5)
    gauge.refused(4096)
    gauge.end()
    assert gauge.reason == "batches of 4,096 did not fit the memory of cuda:3"
    assert card.calls == [(0.9, 3), ("emptied",), ("emptied",), (1.0, 3)]
