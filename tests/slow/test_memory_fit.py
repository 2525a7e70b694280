"""`training.memory = "fit"` under a real limit of memory, and in two processes that have unlike much."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow.test_processes import both_end_well, even, processes
from tests.support.command import Done, environment
from tests.support.copy_run import copy_settings
from transduce.experiment import Experiment
from transduce.experiment.load import to_toml
from transduce.run_folder import RunFolder
from transduce.training.journal import read_journal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no such limits or figures"),
]

LIMITED = """
import resource, sys
import transduce.commands.train, transduce.training.curve
from transduce.cli import main

field = next(line for line in open("/proc/self/status") if line.startswith("VmSize:"))
most = (int(field.split()[1]) << 10) + (int(sys.argv.pop(1)) << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
main()
"""
"""The command line with so many MiB left, once everything is loaded."""

UNLIKE = """
import os
from transduce.training import fit
from transduce.training.room import Room

fit.LEAST_SPARE = 0
fit.shared_room = lambda: Room((1 << 40, 700_000)[int(os.environ["RANK"])], "the game's rule")
fit.resident = lambda: 0
fit.most_resident = lambda: measured.most
class measured:
    most = 0
update = fit._Trial._update
def noting(trial, examples):
    measured.most = max(measured.most, 2000 * sum(int(trial.lengths["source"][i]) + 1 for i in examples))
    update(trial, examples)
fit._Trial._update = noting
from transduce.cli import main
main()
"""
"""The command line where the second process has little memory."""


def limited(mebibytes: int, *arguments: object) -> Done:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(mebibytes), *map(str, arguments)],
        capture_output=True, env=environment(), timeout=250, check=False,
    )  # fmt: skip
    err = done.stderr.decode("utf-8")
    assert "Traceback" not in err, err
    return Done(done.returncode, done.stdout, err)


def wide(folder: Path, **training: object) -> Path:
    """An experiment whose passes of 8,192 tokens keep over a GiB, in inner layers of 8,192."""
    settings = copy_settings(
        folder,
        pairs=2000,
        model={"encoder_layers": 1, "decoder_layers": 1, "d_model": 12, "d_ff": 8192, "heads": 3, "dropout": 0.1},
        training={
            "batch_tokens": 8192, "update_tokens": 8192, "max_updates": 4, "validate_every": 2, "save_every": 2,
            "log_every": 1, "average": 2, "decay": "inverse_sqrt", "warmup": 7, **training,
        },
    )  # fmt: skip
    path = folder / "e.toml"
    path.write_text(to_toml(Experiment.model_validate(settings)), encoding="utf-8")
    return path


def test_what_does_not_fit_under_a_limit_trains_with_what_does(tmp_path: Path) -> None:
    stopped = limited(400, "train", wide(tmp_path), "--run", tmp_path / "stopped")
    stopped.refused("out of memory in a batch of source", '(training.memory = "fit" finds one by trial)', code=1)
    experiment = wide(tmp_path, memory="fit")
    done = limited(400, "train", experiment, "--run", tmp_path / "run").succeeded()
    assert "training.batch_tokens is " in done.err
    found = RunFolder.open(tmp_path / "run").experiment.training
    assert 500 < found.batch_tokens < 5000
    assert abs(found.batch_tokens * found.accumulate - 8192) < found.accumulate
    limited(400, "train", experiment, "--run", tmp_path / "short", "--set", "training.max_updates=2").succeeded()
    short = RunFolder.open(tmp_path / "short").experiment.training
    resumed = limited(4000, "train", "--resume", tmp_path / "short", "--set", "training.max_updates=4").succeeded()
    assert "training.batch_tokens is" not in resumed.err, "there is room for all of them now; it goes on as it began"
    assert RunFolder.open(tmp_path / "short").experiment.training.batch_tokens == short.batch_tokens
    free = limited(4000, "train", experiment, "--run", tmp_path / "free").succeeded()
    assert "training.batch_tokens is" not in free.err
    assert RunFolder.open(tmp_path / "free").experiment.training.batch_tokens == 8192


def test_where_nothing_fits_under_a_limit_it_is_refused(tmp_path: Path) -> None:
    refused = limited(110, "train", wide(tmp_path, memory="fit"), "--run", tmp_path / "run")
    refused.refused("out of memory already in a batch of source", "ulimit -v", "lower data.filters.max_length")
    assert not (tmp_path / "run").exists()


def test_all_processes_take_what_the_smallest_has_room_for(tmp_path: Path) -> None:
    experiment = even(tmp_path, memory="fit", max_updates=2, validate_every=2, save_every=2)
    (tmp_path / "e.toml").write_text(to_toml(experiment), encoding="utf-8")
    run = tmp_path / "run"
    with processes(tmp_path, "train", tmp_path / "e.toml", "--run", run, script=UNLIKE) as (first, second):
        both_end_well(first, second)
    found = RunFolder.open(run).experiment.training
    assert 61 <= found.batch_tokens < 300
    assert found.accumulate == round(600 / found.batch_tokens)
    assert read_journal(run / "journal.jsonl")[0]["batch_tokens"] == found.batch_tokens
