"""Several processes, over gloo on one machine: the updates of one process, and an end when one of them is lost."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from tests.slow.test_kills import everything
from tests.support.command import COMMAND, environment, transduce
from tests.support.copy_run import tiny_experiment
from transduce.experiment import Experiment
from transduce.experiment.load import to_toml
from transduce.run_folder import RunFolder
from transduce.training.journal import read_journal

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NOTING = """
import json, os, sys
from datetime import timedelta
from transduce.tasks import Task
from transduce.training import distributed

distributed.SILENCE = timedelta(seconds=8)
distributed.ROLL_CALL = timedelta(seconds=1)
collate = Task.collate
def noting(self, store, examples, draw=0):
    if draw:  # of a pass of training; operations are counted on an example of their own
        with open(f"{os.environ['NOTES']}/rank-{os.environ['RANK']}.jsonl", "a") as file:
            file.write(json.dumps([int(i) for i in examples]) + "\\n")
    return collate(self, store, examples, draw)
Task.collate = noting
from transduce.cli import main
main()
"""
"""The command line with short patience; each process notes the examples of its batches."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def processes(
    folder: Path, *arguments: object, count: int = 2, script: str = NOTING
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The command in so many processes of one world; killed in the end."""
    port = str(free_port())
    started = []
    try:
        for rank in range(count):
            world = {"NOTES": folder, "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
            env = environment(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **{k: str(v) for k, v in world.items()})
            started.append(
                subprocess.Popen(
                    [sys.executable, "-c", script, *map(str, arguments)],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=env,
                    cwd=ROOT,
                )
            )
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def ended(process: subprocess.Popen[bytes], timeout: float) -> tuple[int, str]:
    _, err = process.communicate(timeout=timeout)
    text = err.decode("utf-8")
    assert "Traceback" not in text, text
    return process.returncode, text


def both_end_well(*watched: subprocess.Popen[bytes]) -> None:
    for process in watched:
        code, err = ended(process, 90)
        assert code == 0, err


def even(folder: Path, **training: object) -> Experiment:
    """Adam's root would blow up the rounding of tiny gradients: a large epsilon keeps it small."""
    return tiny_experiment(folder, adam_epsilon=1e-3, learning_rate=0.01, **training)


def notes(folder: Path, rank: int) -> list[list[int]]:
    return [json.loads(line) for line in (folder / f"rank-{rank}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("accumulate", [2, 3])
def test_case_76_case_82_two_processes_make_the_updates_of_one(tmp_path: Path, accumulate: int) -> None:
    """Two epochs; batches of unlike sizes, with dropout; with three to an update one process has two, or none at all
    where only one is left at the end of the epoch."""
    experiment = even(tmp_path, max_epochs=2, update_tokens=300 * accumulate, validate_every=1000, save_every=1000)
    (tmp_path / "e.toml").write_text(to_toml(experiment), encoding="utf-8")
    transduce("train", tmp_path / "e.toml", "--run", tmp_path / "one").succeeded()
    with processes(tmp_path, "train", tmp_path / "e.toml", "--run", tmp_path / "two") as (first, second):
        both_end_well(first, second)
    one, two = (
        [e for e in read_journal(tmp_path / name / "journal.jsonl") if e["event"] == "update"]
        for name in ("one", "two")
    )
    assert [e["loss"] for e in two] == pytest.approx([e["loss"] for e in one], rel=1e-6)
    assert [e["target_tokens"] for e in two] == [e["target_tokens"] for e in one]
    single, shared = (RunFolder.open(tmp_path / name).weights("last").tensors("weights") for name in ("one", "two"))
    for name, tensor in single.items():
        torch.testing.assert_close(shared[name], tensor, rtol=0, atol=1e-6)

    seen = [notes(tmp_path, rank) for rank in (0, 1)]
    assert len(seen[0]) > len(seen[1]), "an update had a batch for the first process only"
    everything = [i for rank in seen for batch in rank for i in batch]
    assert Counter(everything) == Counter([*range(211), *range(211)]), "each pair once in each of two epochs"
    batches = [tuple(batch) for batch in seen[0]]
    assert len(set(batches)) > 0.9 * len(batches), "the second epoch is another order"


def wait_for(path: Path, *watched: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        for process in watched:
            assert process.poll() is None, ended(process, 5)
        assert time.monotonic() < deadline, path
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_case_88_a_lost_process_ends_the_run_with_its_number(tmp_path: Path, number: signal.Signals) -> None:
    """Killed, it is noticed at once; when it only stops answering, after a time that is set."""
    experiment = tiny_experiment(tmp_path, max_updates=100_000, save_every=5, validate_every=100_000)
    (tmp_path / "e.toml").write_text(to_toml(experiment), encoding="utf-8")
    run = tmp_path / "run"
    with processes(tmp_path, "train", tmp_path / "e.toml", "--run", run) as (first, second):
        wait_for(run / "checkpoints/step-5/manifest.json", first, second)
        second.send_signal(number)
        code, err = ended(first, 30)
        second.send_signal(signal.SIGKILL)
    assert code == 1
    assert "transduce: process 0 of 2 had to stop: process 1 of this run was lost." in err
    assert "start all processes again with --resume" in err
    found = RunFolder.open(run)
    for snapshot in found.checkpoints():
        snapshot.verify()
    last = int(found.checkpoints()[-1].state()["update"])
    more = ("--set", f"training.max_updates={last + 2}")
    with processes(tmp_path, "train", "--resume", run, *more) as (first, second):
        both_end_well(first, second)
    assert RunFolder.open(run).checkpoints()[-1].state()["update"] == last + 2


@pytest.mark.parametrize("seed", range(2))
def test_case_73_kills_of_either_process_change_nothing(tmp_path: Path, seed: int) -> None:
    """Six a run, of the leading process or the other, at any moment after they have met."""
    rng = random.Random(seed)
    experiment = tiny_experiment(tmp_path, seed=seed, max_updates=150, save_every=7, validate_every=11)
    (tmp_path / "e.toml").write_text(to_toml(experiment), encoding="utf-8")
    (tmp_path / "unbroken").mkdir()
    with processes(tmp_path, "train", tmp_path / "e.toml", "--run", tmp_path / "unbroken/run") as watched:
        both_end_well(*watched)
    run, kills = tmp_path / "killed/run", 0
    run.parent.mkdir()
    while not (run / "results.json").exists():
        begun = (run / "tokenizer.json").exists()
        arguments = ["--resume", run] if begun else [tmp_path / "e.toml", "--run", run]
        with processes(tmp_path, "train", *arguments) as watched:
            if kills == 6:
                both_end_well(*watched)
                break
            for rank in (0, 1):
                (tmp_path / f"rank-{rank}.jsonl").unlink(missing_ok=True)
            for rank in (0, 1):
                wait_for(tmp_path / f"rank-{rank}.jsonl", *watched)
            time.sleep(rng.uniform(0, 0.3))
            victim = rng.randrange(2)
            assert watched[victim].poll() is None, "ended before it could be killed"
            watched[victim].send_signal(signal.SIGKILL)
            kills += 1
            code, err = ended(watched[1 - victim], 30)
            assert code == 1 and "had to stop" in err, err
    assert kills == 6
    assert everything(run) == everything(tmp_path / "unbroken/run")


def test_case_88_the_others_end_when_the_first_is_lost(tmp_path: Path) -> None:
    experiment = tiny_experiment(tmp_path, max_updates=100_000, save_every=5, validate_every=100_000)
    (tmp_path / "e.toml").write_text(to_toml(experiment), encoding="utf-8")
    with processes(tmp_path, "train", tmp_path / "e.toml", "--run", tmp_path / "run") as (first, second):
        wait_for(tmp_path / "run/checkpoints/step-5/manifest.json", first, second)
        first.send_signal(signal.SIGKILL)
        code, err = ended(second, 30)
    assert code == 1
    assert "process 1 of 2 had to stop: process 0 was lost" in err or "another process of this run was lost" in err


def test_a_long_validation_loses_nobody(tmp_path: Path) -> None:
    """It takes longer than an update may be silent: the others wait at the gate."""
    slow = "import time\nfrom transduce.training import validation\nv = validation.Validator.__call__\n"
    slow += "validation.Validator.__call__ = lambda self, model: time.sleep(13) or v(self, model)\n"
    experiment = tiny_experiment(tmp_path, max_updates=2, validate_every=1)
    (tmp_path / "e.toml").write_text(to_toml(experiment), encoding="utf-8")
    arguments = ("train", tmp_path / "e.toml", "--run", tmp_path / "run")
    with processes(tmp_path, *arguments, script=slow + NOTING) as (first, second):
        both_end_well(first, second)
    assert [s.folder.name for s in RunFolder.open(tmp_path / "run").checkpoints()] == ["step-2"]


def test_a_signal_to_one_process_saves_and_ends_all(tmp_path: Path) -> None:
    experiment = tiny_experiment(tmp_path, max_updates=100_000, save_every=100_000, validate_every=5)
    (tmp_path / "e.toml").write_text(to_toml(experiment), encoding="utf-8")
    with processes(tmp_path, "train", tmp_path / "e.toml", "--run", tmp_path / "run") as (first, second):
        wait_for(tmp_path / "run/best/manifest.json", first, second)
        second.send_signal(signal.SIGTERM)
        codes = ended(first, 30)[0], ended(second, 30)[0]
    assert codes[1] == 143
    (snapshot,) = RunFolder.open(tmp_path / "run").checkpoints()
    assert snapshot.state()["update"] >= 5


def test_torchrun_says_it_once(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(to_toml(tiny_experiment(tmp_path, max_updates=2)), encoding="utf-8")
    torchrun = [COMMAND[0], "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    # Without the two dashes torchrun takes --run for one of its own options.
    ours = ["-m", "--", "transduce", "train", str(tmp_path / "e.toml"), "--run", str(tmp_path / "run")]
    done = subprocess.run([*torchrun, *ours], capture_output=True, timeout=100, env=environment(), check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.decode().count("training ended") == 1
