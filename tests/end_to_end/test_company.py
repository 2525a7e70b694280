"""`transduce train` with several processes on one machine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command import COMMAND, environment, transduce
from transduce.run_folder import RunFolder
from transduce.training.journal import read_journal

SETTINGS = ("training.batch_tokens=100", "training.update_tokens=400", "data.filters.max_length=90",
            "training.log_every=1", "training.warmup=1000")  # fmt: skip


def arguments(experiment: Path, run: Path, *settings: str) -> list[object]:
    return ["train", experiment, "--run", run, *(word for s in (*SETTINGS, *settings) for word in ("--set", s))]


def losses(run: Path) -> list[float]:
    return [row["loss"] for row in read_journal(RunFolder.open(run).journal) if row["event"] == "update"]


def test_two_processes_learn_what_one_does(experiment: Path, tmp_path: Path) -> None:
    settings = ("training.max_updates=5",)
    transduce(*arguments(experiment, tmp_path / "one", *settings, "compute.processes=1")).succeeded()
    done = transduce(*arguments(experiment, tmp_path / "two", *settings, "compute.processes=2")).succeeded()
    assert "2 passes × 2 processes" in done.err
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=1e-5)
    assert len(losses(tmp_path / "two")) == 5


def test_a_signal_to_one_ends_both_and_saves(experiment: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [*COMMAND, *map(str, arguments(experiment, run, "training.max_updates=100000", "compute.processes=2"))]
    process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE)
    try:
        while not (run / "journal.jsonl").exists() or not losses(run):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGTERM, said.decode()
    assert b"interrupted and saved" in said
    assert RunFolder.open(run).newest_whole() is not None


def test_an_interrupt_ends_both_before_they_have_met(experiment: Path, tmp_path: Path) -> None:
    """The second is still importing then: had it ended by itself, the first would wait for it."""
    command = [*COMMAND, *map(str, arguments(experiment, tmp_path / "run", "compute.processes=2"))]
    process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stderr is not None
        assert b"preset" in process.stderr.readline()
        time.sleep(0.2)
        # As a terminal does it: to every process of the group.
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        with pytest.raises(ProcessLookupError):  # None of them is left.
            os.killpg(process.pid, 0)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 128 + signal.SIGINT
    assert b"Traceback" not in said
