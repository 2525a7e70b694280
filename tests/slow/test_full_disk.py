"""A disk that fills up while a run is written: one message, and what was there before is whole and goes on."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slow.test_kills import everything
from tests.support.copy_run import tiny_experiment
from tests.support.forks import Forks
from transduce.experiment.load import to_toml
from transduce.run_folder import RunFolder


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks() as found:
        yield found


@pytest.fixture(scope="module")
def half(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of 4 updates, and the same run taken to 8: what each should come to."""
    folder = tmp_path_factory.mktemp("half")
    settings = tiny_experiment(folder, max_updates=4, save_every=2, validate_every=2)
    (folder / "e.toml").write_text(to_toml(settings), encoding="utf-8")
    forks("train", folder / "e.toml", "--run", folder / "run", folder=folder).succeeded()
    shutil.copytree(folder / "run", folder / "whole")
    forks("train", "--resume", folder / "whole", "--set", "training.max_updates=8", folder=folder).succeeded()
    return folder


@pytest.mark.slow
def test_case_89_a_full_disk_ends_in_a_message_and_a_whole_checkpoint(forks: Forks, half: Path, tmp_path: Path) -> None:
    """The limit is one of each file's size: settings, journal, weights, optimizer, picture; and some at random."""
    whole = everything(half / "whole")
    newest = half / "whole/checkpoints/step-8"
    files = [half / "whole/experiment.toml", newest / "weights.safetensors", newest / "optimizer.safetensors",
             half / "whole/curve.png"]  # fmt: skip
    rng = random.Random(89)
    largest = max(path.stat().st_size for path in files)
    limits = [path.stat().st_size - 1 for path in files] + [rng.randrange(1500, largest) for _ in range(3)]
    for limit in limits:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(half / "run", tmp_path / "run")
        run = tmp_path / "run"
        more = ("train", "--resume", run, "--set", "training.max_updates=8")
        forks(*more, folder=tmp_path, file_size=limit).refused("transduce: ", "could not be", "File too large", code=1)
        found = RunFolder.open(run)
        for snapshot in (*found.checkpoints(), found.weights("best"), found.weights("average")):
            snapshot.verify()
        assert found.newest_whole() is not None
        forks(*more, folder=tmp_path).succeeded()
        assert everything(run) == whole, f"no file beyond {limit} bytes"


@pytest.mark.slow
def test_case_89_a_full_disk_before_the_first_checkpoint(forks: Forks, half: Path, tmp_path: Path) -> None:
    """Tokenizer, settings, encoded text, report: whatever cannot be written, the same command works afterwards."""
    (tmp_path / "whole").mkdir()
    start = ("train", half / "e.toml", "--run", tmp_path / "run")
    for limit in (500, 900, 1500, 2500, 3500, 5000):
        done = forks(*start, folder=tmp_path, file_size=limit)
        done.refused("transduce: ", "could not be", code=1)
        if (tmp_path / "run/tokenizer.json").exists():
            forks("train", "--resume", tmp_path / "run", folder=tmp_path).succeeded()
        else:
            forks(*start, folder=tmp_path).succeeded()
        assert everything(tmp_path / "run") == everything(half / "run"), f"no file beyond {limit} bytes"
        for name in ("run", ".cache"):
            shutil.rmtree(tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", ["manifest.json", "state.json", "weights.safetensors", "optimizer.safetensors"])
def test_case_89_resume_takes_the_newest_whole_checkpoint_and_says_so(
    forks: Forks, half: Path, tmp_path: Path, name: str, share: float
) -> None:
    run = tmp_path / "run"
    shutil.copytree(half / "whole", run)
    path = run / "checkpoints/step-8" / name
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    done = forks("train", "--resume", run, folder=tmp_path).succeeded()
    assert f"{path.parent} was damaged and is removed: going on from an earlier checkpoint" in done.err
    assert "resumed after update 6" in done.err
    assert everything(run) == everything(half / "whole")
