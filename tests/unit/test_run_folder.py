"""What a run is on disk: whole or refused."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import nn

from transduce.errors import RunError, TransduceError
from transduce.experiment import Experiment
from transduce.run_folder import RunFolder, Snapshot, load_weights, write_snapshot
from transduce.run_folder.files import write_synced
from transduce.text.pair import Tokenizers
from transduce.text.tokenizer import TokenizerConfig

EXPERIMENT = Experiment.model_validate(
    {"preset": "tiny", "name": "añejo", "data": {"train": [{"tsv": "/a/train.tsv"}], "valid": {"tsv": "/a/valid.tsv"}}}
)


def tokenizers() -> Tokenizers:
    config = TokenizerConfig(kind="word", vocabulary=50, if_too_large="shrink")
    return Tokenizers.train(config, lambda: [("red blue", "azul añejo 北京")])


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", EXPERIMENT, tokenizers())


class Model(nn.Module):
    """Two parameters, the second under two names."""

    def __init__(self, rows: int = 3) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.arange(2.0))
        self.second = nn.Linear(5, rows, bias=False)
        self.tied = nn.Linear(5, rows, bias=False)
        self.tied.weight = self.second.weight


def weights(model: nn.Module) -> dict[str, Any]:
    return {"weights": dict(model.named_parameters())}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_what_was_created_is_opened_again(run: RunFolder) -> None:
    opened = RunFolder.open(run.path)
    assert opened.experiment == EXPERIMENT
    assert opened.tokenizers.fingerprint == tokenizers().fingerprint
    assert opened.checkpoints() == []


def test_nothing_is_created_over_what_is_there(run: RunFolder, tmp_path: Path) -> None:
    for used in (run.path, run.path / "tokenizer.json"):
        with pytest.raises(RunError, match="already exists and is not empty; continue it with"):
            RunFolder.create(used, EXPERIMENT, tokenizers())
    (tmp_path / "empty").mkdir()
    RunFolder.create(tmp_path / "empty", EXPERIMENT, tokenizers())
    with pytest.raises(RunError, match="cannot be made"):
        RunFolder.create(run.path / "tokenizer.json" / "below", EXPERIMENT, tokenizers())


def test_folders_that_are_no_run(tmp_path: Path, run: RunFolder) -> None:
    with pytest.raises(RunError, match="no such run folder"):
        RunFolder.open(tmp_path / "none")
    with pytest.raises(RunError, match=r"experiment\.toml and tokenizer\.json missing"):
        RunFolder.open(tmp_path)
    (run.path / "tokenizer.json").unlink()
    with pytest.raises(RunError, match=r": tokenizer\.json missing"):
        RunFolder.open(run.path)


def test_a_snapshot_says_what_is_in_it(tmp_path: Path) -> None:
    model = Model()
    snapshot = write_snapshot(tmp_path / "best", weights(model), {"update": 7})
    assert snapshot.state() == {"update": 7}
    stored = snapshot.tensors("weights")
    assert sorted(stored) == ["first", "second.weight"], "a tied matrix is stored once"
    assert all(torch.equal(stored[name], p) for name, p in model.named_parameters())
    manifest = json.loads((tmp_path / "best/manifest.json").read_text())
    assert manifest["format"] == 1
    assert manifest["files"] == {
        name: hashlib.sha256((tmp_path / "best" / name).read_bytes()).hexdigest()
        for name in ("weights.safetensors", "state.json")
    }
    assert sorted(contents(tmp_path)) == ["best/manifest.json", "best/state.json", "best/weights.safetensors"]


@pytest.mark.parametrize("at", range(7))
def test_a_failure_while_writing_leaves_the_old_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Fails at the first, second, … of the writes and renames: three files, the old one aside, the new one in place."""
    folder = tmp_path / "best"
    write_snapshot(folder, weights(Model()), {"update": 1})
    before = contents(tmp_path)
    calls = 0

    def failing(original: Any) -> Any:
        def call(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == at + 1:
                raise OSError(28, "No space left on device")
            return original(*arguments)

        return call

    monkeypatch.setattr("transduce.run_folder.snapshot.write_synced", failing(write_synced))
    monkeypatch.setattr(Path, "rename", failing(Path.rename))
    if at >= 5:
        write_snapshot(folder, weights(Model()), {"update": 2})
        assert Snapshot(folder).state() == {"update": 2}
        return
    with pytest.raises(TransduceError, match=r"No space left on device.*what was saved before is untouched"):
        write_snapshot(folder, weights(Model()), {"update": 2})
    assert contents(tmp_path) == before


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", ["manifest.json", "state.json", "weights.safetensors", "optimizer.safetensors"])
def test_a_truncated_snapshot_is_refused(run: RunFolder, name: str, share: float) -> None:
    tensors = {**weights(Model()), "optimizer": {"first/step": torch.tensor(3.0)}}
    snapshot = run.save_checkpoint(7, tensors, {"update": 7})
    snapshot.verify()
    path = snapshot.folder / name
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(RunError, match=name):
        snapshot.verify()
    with pytest.raises(RunError, match="step-7"):
        for kind in ("weights", "optimizer"):
            snapshot.tensors(kind)
        snapshot.state()
    assert run.newest_whole() is None


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", ["experiment.toml", "tokenizer.json"])
def test_a_truncated_run_is_refused(run: RunFolder, name: str, share: float) -> None:
    path = run.path / name
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    opened = RunFolder.open(run.path)
    with pytest.raises(RunError, match=name):
        _ = opened.experiment, opened.tokenizers


def test_settings_cut_between_two_lines_are_refused(run: RunFolder) -> None:
    """What is left would be valid, with defaults for what is lost: another model."""
    path = run.path / "experiment.toml"
    lines = path.read_bytes().split(b"\n")
    for n in range(len(lines) - 1):
        path.write_bytes(b"".join(line + b"\n" for line in lines[:n]))
        with pytest.raises(RunError, match="cut"):
            _ = RunFolder(run.path).experiment
    path.write_bytes(b"\xff\n")
    with pytest.raises(RunError, match="not UTF-8"):
        _ = RunFolder(run.path).experiment


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    snapshot = write_snapshot(tmp_path / "best", weights(Model()), {"update": 1})
    path = tmp_path / "best/weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match="SHA-256 is not the manifest's"):
        snapshot.tensors("weights")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"format": 2, "files": {}}, "format 2, this version of transduce reads 1"),
        ({"files": {}}, "format None"),
        ({"format": 1}, "it lists no files"),
        ({"format": 1, "files": {}}, "does not list weights.safetensors"),
        ([], "expected a JSON object"),
    ],
)
def test_manifests_that_do_not_hold(tmp_path: Path, manifest: object, message: str) -> None:
    snapshot = write_snapshot(tmp_path / "best", weights(Model()), {})
    (tmp_path / "best/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match=message):
        snapshot.tensors("weights")


def test_a_file_that_is_no_safetensors_is_refused_even_with_its_checksum(tmp_path: Path) -> None:
    snapshot = write_snapshot(tmp_path / "best", weights(Model()), {})
    (tmp_path / "best/weights.safetensors").write_bytes(b"nonsense")
    manifest = {"format": 1, "files": {"weights.safetensors": hashlib.sha256(b"nonsense").hexdigest()}}
    (tmp_path / "best/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="not a safetensors file"):
        snapshot.tensors("weights")


def test_weights_come_back_into_a_model(tmp_path: Path) -> None:
    source, target = Model(), Model()
    nn.init.normal_(source.second.weight)
    load_weights(target, write_snapshot(tmp_path / "best", weights(source), {}))
    assert torch.equal(target.second.weight, source.second.weight)
    assert target.tied.weight is target.second.weight


def test_checkpoints_are_in_the_order_of_their_updates(run: RunFolder) -> None:
    for step in (9, 100, 20):
        run.save_checkpoint(step, weights(Model()), {"update": step})
    (run.path / "checkpoints/step-7").mkdir()
    (run.path / "checkpoints/step-x").mkdir()
    assert [s.state()["update"] for s in run.checkpoints()] == [9, 20, 100]
    newest = run.newest_whole()
    assert newest is not None and newest.folder.name == "step-100"
    (newest.folder / "state.json").unlink()
    newest = run.newest_whole()
    assert newest is not None and newest.folder.name == "step-20"


def test_damaged_checkpoints_are_dropped_unless_all_are(run: RunFolder) -> None:
    for step in (10, 20, 30):
        run.save_checkpoint(step, weights(Model()), {"update": step})
    for step in (10, 30):
        (run.path / f"checkpoints/step-{step}/weights.safetensors").write_bytes(b"")
    assert [p.name for p in run.drop_damaged()] == ["step-10", "step-30"]
    assert [s.folder.name for s in run.checkpoints()] == ["step-20"]
    assert run.drop_damaged() == []
    (run.path / "checkpoints/step-20/weights.safetensors").write_bytes(b"")
    before = contents(run.path)
    with pytest.raises(RunError, match=r"no checkpoint is whole; of the newest: .*step-20"):
        run.drop_damaged()
    assert contents(run.path) == before


def test_a_dropped_checkpoint_leaves_nothing(run: RunFolder) -> None:
    snapshot = run.save_checkpoint(7, weights(Model()), {})
    run.drop_checkpoint(snapshot)
    assert list((run.path / "checkpoints").iterdir()) == []


def test_what_a_killed_process_left_is_cleaned(run: RunFolder) -> None:
    """Half a save, half a removal, and a `best` that was moved aside before its successor came."""
    best = write_snapshot(run.path / "best", weights(Model()), {"update": 7})
    best.folder.rename(run.path / ".old-best")
    run.save_checkpoint(7, weights(Model()), {})
    shutil.copytree(run.path / "checkpoints/step-7", run.path / "checkpoints/.old-step-3")
    for part in (run.path / ".part-best", run.path / "checkpoints/.part-step-9"):
        part.mkdir()
        (part / "weights.safetensors").write_bytes(b"half")
    run.clean()
    assert best.state() == {"update": 7}
    assert sorted(p.name for p in (run.path / "checkpoints").iterdir()) == ["step-7"]
    assert not [p for p in run.path.iterdir() if p.name.startswith(".")]
    shutil.copytree(run.path / "best", run.path / ".old-best")
    run.clean()
    assert best.state() == {"update": 7} and not (run.path / ".old-best").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that start at once")
def test_case_89_a_kill_at_any_moment_of_saving_leaves_a_whole_checkpoint(run: RunFolder) -> None:
    run.save_checkpoint(1, weights(Model()), {"update": 1})
    write_snapshot(run.path / "best", weights(Model()), {"update": 1})
    rng = random.Random(89)
    for attempt in range(30):
        before = int(run.checkpoints()[-1].state()["update"])
        child = os.fork()
        if child == 0:
            try:
                for step in range(before + 1, before + 10_000):
                    snapshot = run.save_checkpoint(step, weights(Model()), {"update": step})
                    write_snapshot(run.path / "best", weights(Model()), {"update": step})
                    for old in run.checkpoints():
                        if old.folder != snapshot.folder:
                            run.drop_checkpoint(old)
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        newest = run.newest_whole()
        assert newest is not None and newest.state()["update"] >= before, f"attempt {attempt}"
        run.clean()
        for snapshot in (*run.checkpoints(), run.weights("best")):
            snapshot.verify()
        assert not [path for path in run.path.rglob(".*") if path.name.startswith((".part", ".old"))]


def test_which_weights_are_taken(run: RunFolder) -> None:
    for name in ("auto", "average", "best", "last"):
        with pytest.raises(RunError, match=f"holds no {'weights' if name == 'auto' else name + ' weights'}"):
            run.weights(name)
    run.save_checkpoint(7, weights(Model()), {})
    assert run.weights().folder.name == run.weights("last").folder.name == "step-7"
    write_snapshot(run.path / "best", weights(Model()), {})
    assert run.weights().folder.name == "best"
    write_snapshot(run.path / "average", weights(Model()), {})
    assert run.weights().folder.name == "average"
    assert run.weights("best").folder.name == "best"
    assert run.weights("last").folder.name == "step-7"


def test_tensors_are_plain_safetensors(tmp_path: Path) -> None:
    """Any program that reads safetensors can read a run."""
    write_snapshot(tmp_path / "best", {"weights": {"t": torch.arange(6.0).view(2, 3).t()}}, {})
    loaded = safetensors.torch.load_file(tmp_path / "best/weights.safetensors")
    assert loaded["t"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_run_that_was_killed_while_it_was_made_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "run"
    RunFolder.create(path, EXPERIMENT, tokenizers())
    (path / "tokenizer.json").rename(path / ".part-file-tokenizer.json")
    with pytest.raises(RunError, match="killed before it began: train it anew, without --resume"):
        RunFolder.open(path)
    assert RunFolder.create(path, EXPERIMENT, tokenizers()).experiment == EXPERIMENT
    for name, content in (("experiment.toml", "name = 'mine'\n"), ("notes.txt", "")):
        other = tmp_path / name.partition(".")[0]
        other.mkdir()
        (other / name).write_text(content, encoding="utf-8")
        with pytest.raises(RunError, match="already exists and is not empty"):
            RunFolder.create(other, EXPERIMENT, tokenizers())
        assert (other / name).read_text(encoding="utf-8") == content, "someone else's file"


def test_half_a_file_is_cleaned_too(run: RunFolder) -> None:
    (run.path / ".part-file-results.json").write_text("{", encoding="utf-8")
    run.clean()
    assert not list(run.path.glob(".*"))


def test_a_file_that_cannot_be_written_is_named(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (run.path / "experiment.toml").read_bytes()

    def full(path: Path, content: bytes) -> None:
        path.write_bytes(content[:7])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("transduce.run_folder.files.write_synced", full)
    with pytest.raises(TransduceError, match=r"experiment\.toml: could not be written \(No space left on device\)"):
        run.record(EXPERIMENT)
    assert (run.path / "experiment.toml").read_bytes() == before
