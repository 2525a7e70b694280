"""When one machine trains with several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.copy_run import tiny_experiment
from transduce import devices
from transduce.experiment import Experiment
from transduce.models.transformer import TransformerConfig
from transduce.training import company as module
from transduce.training.company import company, processes


def experiment(folder: Path, *, passes: int = 4, updates: int = 1000, **compute: object) -> Experiment:
    made = tiny_experiment(folder)
    table = made.model_dump()
    table["training"] |= {"batch_tokens": 100, "update_tokens": 100 * passes, "max_updates": updates}
    table["data"]["filters"]["max_length"] = 90
    table["compute"] |= {"device": "cpu", "threads": 0, **compute}
    return Experiment.model_validate(table)


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "usable_cores", lambda: 3)
    monkeypatch.delenv("WORLD_SIZE", raising=False)


def test_one_for_each_core_as_far_as_an_update_has_passes(tmp_path: Path) -> None:
    assert processes(experiment(tmp_path, passes=4)) == 3
    assert processes(experiment(tmp_path, passes=2)) == 2
    assert processes(experiment(tmp_path, passes=1)) == 1


def test_one_where_training_is_short_or_threads_are_asked_for(tmp_path: Path) -> None:
    assert processes(experiment(tmp_path, updates=module.WORTH_IT - 1)) == 1
    assert processes(experiment(tmp_path, threads=3)) == 1


def test_one_where_the_model_is_large(tmp_path: Path) -> None:
    """The paper's base model, and one of a quarter of its widths."""
    for width, count in ((512, 1), (128, 3)):
        made = experiment(tmp_path, passes=4)
        tokenizer = made.tokenizer.model_copy(update={"vocabulary": 10_000})
        model = TransformerConfig(d_model=width, d_ff=4 * width)
        assert processes(made.model_copy(update={"model": model, "tokenizer": tokenizer})) == count


def test_what_is_asked_for_is_done(tmp_path: Path) -> None:
    assert processes(experiment(tmp_path, passes=1, updates=1, processes=5)) == 5
    assert processes(experiment(tmp_path, processes=1)) == 1


def test_torchrun_has_decided_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "7")
    assert processes(experiment(tmp_path, processes=5)) == 1


def fake(monkeypatch: pytest.MonkeyPatch, script: str) -> list[subprocess.Popen[bytes]]:
    """Processes that run a script instead of ours."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        started.append(popen([sys.executable, "-c", script, *command[3:]], **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return started


def test_each_has_its_number_and_the_same_place_to_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    script = (
        f"import os, pathlib, sys; pathlib.Path(sys.argv[1], os.environ['RANK'])"
        f".write_text(' '.join(os.environ[name] for name in {names}))"
    )
    fake(monkeypatch, script)
    before = dict(os.environ)
    with company(3, [str(tmp_path)]):
        mine = [os.environ[name] for name in names]
    assert mine[:5] == ["0", "0", "3", "3", "127.0.0.1"]
    for rank in ("1", "2"):
        assert (tmp_path / rank).read_text().split() == [rank, rank, *mine[2:]]
    assert dict(os.environ) == before


def test_none_outlives_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    started = fake(monkeypatch, "import time; time.sleep(1000)")
    with pytest.raises(KeyError), company(3, []):
        raise KeyError
    assert [process.returncode for process in started] == [-9, -9]


def test_none_outlives_an_interrupt_while_they_start(monkeypatch: pytest.MonkeyPatch) -> None:
    started = fake(monkeypatch, "import time; time.sleep(1000)")
    start = subprocess.Popen

    def interrupted(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        process = start(*arguments, **options)  # type: ignore[call-overload]
        signal.raise_signal(signal.SIGINT)
        return process  # type: ignore[no-any-return]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt), company(3, []):
            pytest.fail("it was lost")
        assert [process.returncode for process in started] == [-9, -9]
    finally:
        for process in started:
            process.kill()


def test_alone_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started = fake(monkeypatch, "")
    with company(1, []):
        assert "WORLD_SIZE" not in os.environ
    assert not started
