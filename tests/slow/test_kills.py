"""A run that is killed again and again ends as the run that nothing happened to, bit for bit."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.copy_run import tiny_experiment
from tests.support.forks import Forks
from tests.unit.training.test_resume import content
from transduce.experiment import Experiment
from transduce.experiment.load import to_toml

LIVES = 60


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks() as found:
        yield found


def experiment(folder: Path, seed: int, **changes: Any) -> Experiment:
    """Dropout, shuffling, accumulation; checkpoints and validations often, and not always at the same update."""
    settings: dict[str, Any] = {"seed": seed, "save_every": 2, "validate_every": 3, "max_updates": 36, "patience": 9}
    return tiny_experiment(folder, **settings | changes)


def everything(run: Path) -> dict[str, Any]:
    """`content`, and the results but for times."""
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    results |= {"ended": "", "training_seconds": 0}
    return {**content(run), "results": results}


def live_and_die(forks: Forks, folder: Path, run: Path, rng: random.Random, kills: int, seconds: float) -> int:
    """Train with up to `kills` kills, then to the end. Returns how many there were.

    `seconds` are those of the unbroken run: no life may last so long that too few are left for all kills.
    """
    for died in range(LIVES):
        begun = (run / "tokenizer.json").exists()
        arguments = ["--resume", run] if begun else [folder / "e.toml", "--run", run]
        how: dict[str, Any] = {}
        if died < kills:
            # Between two changes of files, where a kill is worst, or at any other moment.
            events = rng.random() < 0.7
            how = (
                {"kill_at_event": rng.randint(1, 14)}
                if events
                else {"kill_after": rng.uniform(0.01, seconds / 2 / kills)}
            )
        done = forks("train", *arguments, folder=run.parent, **how)
        if done.code == 0:
            return died
        assert done.code == -signal.SIGKILL, done.err
    raise AssertionError(f"not at its end after {LIVES} lives")


def killed_equals_unbroken(forks: Forks, folder: Path, settings: Experiment, rng: random.Random, kills: int) -> int:
    (folder / "e.toml").write_text(to_toml(settings), encoding="utf-8")
    for name in ("unbroken", "killed"):
        (folder / name).mkdir()
    begun = time.monotonic()
    forks("train", folder / "e.toml", "--run", folder / "unbroken/run", folder=folder / "unbroken").succeeded()
    died = live_and_die(forks, folder, folder / "killed/run", rng, kills, time.monotonic() - begun)
    assert everything(folder / "killed/run") == everything(folder / "unbroken/run")
    left = [path for path in (folder / "killed").rglob(".*") if path.name != ".cache"]
    assert not left, "nothing half written is left behind"
    return died


def test_case_89_three_kills_change_nothing(forks: Forks, tmp_path: Path) -> None:
    settings = experiment(tmp_path, 3, max_updates=12)
    assert killed_equals_unbroken(forks, tmp_path, settings, random.Random(3), kills=3) == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_case_73_case_89_ten_kills_change_nothing(forks: Forks, tmp_path: Path, seed: int) -> None:
    """Every second run is ended by its patience: the first validation is the best, nine more are none."""
    patience = {"min_change": 10.0, "max_updates": 99} if seed % 2 else {}
    settings = experiment(tmp_path, seed, **patience)
    assert killed_equals_unbroken(forks, tmp_path, settings, random.Random(seed), kills=10) == 10


@pytest.mark.slow
def test_case_89_a_kill_between_any_two_changes_of_files_changes_nothing(forks: Forks, tmp_path: Path) -> None:
    """From the first folder to the last picture: each moment once, in a run of its own."""
    settings = experiment(tmp_path, 5, max_updates=2, save_every=1, validate_every=1, average=1)
    (tmp_path / "e.toml").write_text(to_toml(settings), encoding="utf-8")
    (tmp_path / "unbroken").mkdir()
    forks("train", tmp_path / "e.toml", "--run", tmp_path / "unbroken/run", folder=tmp_path / "unbroken").succeeded()
    whole = everything(tmp_path / "unbroken/run")
    for event in range(1, 200):
        folder = tmp_path / str(event)
        folder.mkdir()
        run = folder / "run"
        done = forks("train", tmp_path / "e.toml", "--run", run, folder=folder, kill_at_event=event)
        if done.code == 0:
            break
        assert done.code == -signal.SIGKILL, done.err
        arguments = ["--resume", run] if (run / "tokenizer.json").exists() else [tmp_path / "e.toml", "--run", run]
        forks("train", *arguments, folder=folder).succeeded()
        assert everything(run) == whole, f"killed before change {event}"
        assert not [path for path in folder.rglob(".*") if path.name != ".cache"], f"killed before change {event}"
    assert 50 < event < 199
