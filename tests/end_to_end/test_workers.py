"""Several processes: the same bytes in the same order, and every end is a clean one. With the run that ships."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command import COMMAND, environment, transduce
from tests.support.copy_run import write_lines
from transduce.commands.workers import Job, Workers
from transduce.demo.corpus import pairs
from transduce.demo.shipped import RUN
from transduce.errors import TransduceError
from transduce.text.lines import Line

SENTENCES = [pair.source for pair in pairs("test")]


@pytest.fixture
def given(tmp_path: Path) -> Path:
    lines = SENTENCES[:31]
    lines[11], lines[23] = "", f"  {lines[23]} "
    return write_lines(tmp_path / "given.txt", lines)


@pytest.mark.parametrize("options", [["--jsonl"], ["--sample", "--temperature", 3]])
def test_workers_change_no_byte(given: Path, options: list[object]) -> None:
    command = ["translate", "--run", RUN, "--file", given, "--batch", 7, "--threads", 1, *options]
    one = transduce(*command, "--workers", 1).succeeded()
    two = transduce(*command, "--workers", 2).succeeded()
    assert one.out == two.out and one.out.count(b"\n") == 31
    assert one.err == two.err


def test_a_fault_in_a_worker_is_told_as_anywhere(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "long.txt", [SENTENCES[0], SENTENCES[1] * 1001])
    transduce("translate", "--run", RUN, "--file", path, "--workers", 2).refused("text 2 has ")
    transduce("translate", "--run", RUN, "red", "--workers", -1).refused("--workers -1: expected 0")


def test_a_worker_that_dies_is_told() -> None:
    job = Job([str(RUN)], "auto", "none", {}, None, False, False, False)
    with Workers(2, job) as workers:
        for process in workers.processes:
            process.kill()
        with pytest.raises(TransduceError, match="a worker process ended at line 1 "):
            list(workers.map([[Line(b"red", b"\n", 1)]]))


def test_a_worker_leaves_interrupts_to_who_started_it() -> None:
    """From its first moment on: while it imports, too."""
    job = Job([str(RUN)], "auto", "none", {}, None, False, False, False)
    with Workers(2, job) as workers:
        for process in workers.processes:
            process.send_signal(signal.SIGINT)
        ((_, answer),) = workers.map([[Line("我爱水课".encode(), b"\n", 1)]])
    assert answer.rendered == ["I love easy courses"]


def test_an_interrupt_ends_all_processes(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "much.txt", SENTENCES * 100)
    process = subprocess.Popen(
        [*COMMAND, "translate", "--run", str(RUN), "--file", str(path), "--workers", "2", "--batch", "8"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline()
        # As a terminal does it: to every process of the group.
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in err
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a worker still runs")
