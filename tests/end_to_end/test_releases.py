"""Runs that earlier releases made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.copy_run import load
from transduce.run_folder import RunFolder
from transduce.training.averaging import average_weights
from transduce.training.journal import read_journal

RUNS = sorted((Path(__file__).parents[1] / "data").glob("run-*"))


def test_every_release_left_a_run() -> None:
    assert [run.name for run in RUNS][:1] == ["run-0.1.0"]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_case_196_a_run_of_an_earlier_release_loads(run: Path) -> None:
    """With whatever torch is installed: no pickle is among its files, and its numbers are the same."""
    names = {path.suffix for path in run.rglob("*") if path.is_file()}
    assert names == {".json", ".jsonl", ".toml", ".safetensors"}
    rows = json.loads((run / "expected.json").read_text(encoding="utf-8"))
    translator = load(run)
    scored = translator.score([source for source, _, _ in rows], [target for _, target, _ in rows])
    for (_, _, expected), found in zip(rows, scored, strict=True):
        assert found.token_log_probabilities == pytest.approx(expected, abs=1e-4)
    for weights in ("best", "last"):
        assert len(load(run, weights=weights).translate(["red blue", ""], beam=1)) == 2


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_checkpoints_of_an_earlier_release_are_whole(run: Path) -> None:
    folder = RunFolder.open(run)
    (snapshot,) = folder.checkpoints()
    snapshot.verify()
    assert average_weights([snapshot]).keys() == folder.weights("average").tensors("weights").keys()
    assert {name.rsplit("/", 1)[1] for name in snapshot.tensors("optimizer")} == {"exp_avg", "exp_avg_sq", "step"}
    assert read_journal(folder.journal)[-1]["update"] == snapshot.state()["update"]
