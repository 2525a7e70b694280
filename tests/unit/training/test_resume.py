"""A run that was stopped and resumed is the run that was never stopped."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.copy_run import tiny_experiment, write_lines
from tests.unit.training.test_loop import updates_of
from transduce.errors import ConfigError, RunError, TransduceError
from transduce.experiment import Experiment
from transduce.recipe import Announcement, Watcher, exit_code, resume, train
from transduce.run_folder import RunFolder, Snapshot, write_snapshot
from transduce.training import journal
from transduce.training.interruption import catch_signals
from transduce.training.journal import read_journal
from transduce.training.state import TrainingState

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


class Killed(Exception):
    pass


class Stopper(Watcher):
    """Does something after a certain update, and notes what it is told."""

    def __init__(self, update: int, act: Callable[[], object]) -> None:
        self.update, self.act = update, act
        self.notices: list[str] = []
        self.resumed_at = -1

    def updated(self, state: TrainingState, loss: float, rate: float, updates: int) -> None:
        if state.update == self.update:
            self.act()

    def noticed(self, what: str) -> None:
        self.notices.append(what)

    def announced(self, announcement: Announcement) -> None:
        self.resumed_at = announcement.resumed_at


def kill() -> None:
    raise Killed


def nothing() -> None:
    pass


def content(path: Path) -> dict[str, Any]:
    """All that a run holds but times: bit for bit."""
    run = RunFolder.open(path)
    found: dict[str, Any] = {
        "journal": [{k: v for k, v in e.items() if k not in ("seconds", "took")} for e in read_journal(run.journal)]
    }
    for snapshot in [*run.checkpoints(), run.weights("best"), run.weights("average")]:
        names = ["weights", "optimizer"] if "step" in snapshot.folder.name else ["weights"]
        tensors = {f"{n}:{k}": t.numpy().tobytes() for n in names for k, t in snapshot.tensors(n).items()}
        state = {k: v for k, v in snapshot.state().items() if k not in ("seconds", "journal_bytes")}
        found[snapshot.folder.name] = (tensors, state)
    return found


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the text, and a run of 20 updates with dropout, shuffling and accumulation that never stopped."""
    folder = tmp_path_factory.mktemp("unbroken")
    torch.set_num_threads(1)
    train(tiny_experiment(folder), folder / "run")
    return folder


def test_case_71_case_73_stopping_at_a_signal_changes_nothing(unbroken: Path, tmp_path: Path) -> None:
    """Twice, between two checkpoints, in two epochs: weights, optimizer, rates, losses, best, average."""
    experiment = tiny_experiment(unbroken)
    path = tmp_path / "run"
    first = train(experiment, path, Stopper(7, lambda: signal.raise_signal(signal.SIGTERM)))
    assert (first.signal, first.reason, exit_code(first)) == (signal.SIGTERM, "", 143)
    assert [s.folder.name for s in RunFolder.open(path).checkpoints()] == ["step-5", "step-7"]
    second = resume(path, watcher=Stopper(13, lambda: signal.raise_signal(signal.SIGINT)))
    assert (second.signal, exit_code(second)) == (signal.SIGINT, 130)
    last = Stopper(0, nothing)
    third = resume(path, watcher=last)
    assert last.resumed_at == 13
    assert (third.signal, exit_code(third)) == (0, 0)
    assert third.reason == "20 updates were made (training.max_updates)"
    assert content(path) == content(unbroken / "run")


def test_a_position_that_no_epoch_has_is_refused_with_the_runs_name(unbroken: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(unbroken / "run", path)
    newest = RunFolder.open(path).checkpoints()[-1]
    tensors = {name: newest.tensors(name) for name in ("weights", "optimizer")}
    write_snapshot(newest.folder, tensors, {**newest.state(), "index": 1607})
    with pytest.raises(RunError, match=f"{path}: epoch .* updates, so none starts at 1607"):
        resume(path, ["training.max_updates=21"])


@pytest.mark.parametrize("content", ["{}", '{"sha256": []}', '{"sha256": "x"}'])
def test_a_record_of_the_data_without_checksums_is_refused(unbroken: Path, tmp_path: Path, content: str) -> None:
    path = tmp_path / "run"
    shutil.copytree(unbroken / "run", path)
    (path / "data.json").write_text(content, encoding="utf-8")
    with pytest.raises(RunError, match=r"data\.json: it holds no checksums of the text"):
        resume(path, ["training.max_updates=21"])


def test_stopping_without_a_save_changes_nothing(unbroken: Path, tmp_path: Path) -> None:
    """As a power cut does: what came after the last checkpoint is done again, and its journal lines are cut."""
    path = tmp_path / "run"
    with pytest.raises(Killed):
        train(tiny_experiment(unbroken), path, Stopper(14, kill))
    assert read_journal(path / "journal.jsonl")[-1]["update"] > 10
    last = Stopper(0, nothing)
    resume(path, watcher=last)
    assert last.resumed_at == 10
    assert content(path) == content(unbroken / "run")


def test_stopping_before_the_first_checkpoint_starts_anew(unbroken: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(Killed):
        train(tiny_experiment(unbroken), path, Stopper(3, kill))
    resume(path)
    assert content(path) == content(unbroken / "run")


def test_a_finished_run_can_be_made_longer(unbroken: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    train(tiny_experiment(unbroken, max_updates=10), path)
    resume(path, ["training.max_updates=20"])
    longer, whole = content(path), content(unbroken / "run")
    assert longer["step-10"][1].pop("finished").startswith("10 updates")
    assert whole["step-10"][1].pop("finished") == ""
    assert longer == whole
    # What was asked for once is remembered: a resume after that one needs no --set.
    assert RunFolder.open(path).experiment.training.max_updates == 20


def test_case_74_every_pair_once_an_epoch(unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    seen = updates_of(monkeypatch)
    train(tiny_experiment(unbroken, max_epochs=2), path, Stopper(3, lambda: signal.raise_signal(signal.SIGINT)))
    assert len(seen) == 3 and not seen[-1].last
    resume(path)
    for epoch in (0, 1):
        counts = Counter(int(i) for u in seen if u.epoch == epoch for part in u.micro_batches for i in part)
        assert counts == Counter(range(211))


def test_patience_goes_on_where_it_was(unbroken: Path, tmp_path: Path) -> None:
    settings = {"patience": 3, "min_change": 10.0, "validate_every": 2, "save_every": 50}
    path = tmp_path / "run"
    train(tiny_experiment(unbroken, **settings), path, Stopper(5, lambda: signal.raise_signal(signal.SIGINT)))
    assert RunFolder.open(path).checkpoints()[-1].state()["stale"] == 1
    outcome = resume(path)
    assert outcome.reason == "3 validations in a row brought nothing better (training.patience)"
    assert RunFolder.open(path).checkpoints()[-1].state()["update"] == 8


@pytest.fixture
def stopped(unbroken: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be damaged. Its last checkpoints are those of updates 10, 15 and 20."""
    shutil.copytree(unbroken / "run", tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize(
    "setting",
    [
        "training.learning_rate=0.5",
        "training.batch_tokens=301",
        "model.dropout=0.2",
        "training.seed=2",
        "decoding.beam=2",
        "training.max_updates_=3",
    ],
)
def test_case_77_a_changed_setting_is_refused_by_name(stopped: Path, setting: str) -> None:
    before = content(stopped)
    with pytest.raises(ConfigError, match=setting.split("=")[0]):
        resume(stopped, ["training.patience=3", setting])
    assert content(stopped) == before
    assert RunFolder.open(stopped).experiment.training.patience == 0


def test_an_end_that_the_learning_rate_was_heading_for_cannot_move(unbroken: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    train(tiny_experiment(unbroken, decay="linear", max_updates=5), path)
    with pytest.raises(ConfigError, match=r'training\.max_updates: training\.decay = "linear" ends there'):
        resume(path, ["training.max_updates=9"])


def damage(snapshot: Path, name: str) -> None:
    (snapshot / name).write_bytes((snapshot / name).read_bytes()[:-1])


def test_a_damaged_checkpoint_is_named_and_an_earlier_one_taken(stopped: Path, unbroken: Path) -> None:
    for step, name in ((20, "state.json"), (10, "weights.safetensors")):
        damage(stopped / f"checkpoints/step-{step}", name)
    last = Stopper(0, nothing)
    resume(stopped, watcher=last)
    assert last.resumed_at == 15
    assert [n.split(" was")[0] for n in last.notices] == [str(stopped / f"checkpoints/step-{n}") for n in (10, 20)]
    again, before = content(stopped), content(unbroken / "run")
    assert again["step-20"] == before["step-20"] and again["journal"] == before["journal"]
    assert RunFolder.open(stopped).weights("average").state() == {"updates": [15, 20]}


def test_a_run_without_a_whole_checkpoint_is_refused_and_kept(stopped: Path) -> None:
    for step in (10, 15, 20):
        damage(stopped / f"checkpoints/step-{step}", "optimizer.safetensors")
    journal = (stopped / "journal.jsonl").read_bytes()
    with pytest.raises(RunError, match="no checkpoint is whole"):
        resume(stopped)
    assert (stopped / "journal.jsonl").read_bytes() == journal
    assert len(RunFolder.open(stopped).checkpoints()) == 3


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", ["experiment.toml", "tokenizer.json", "data.json"])
def test_a_truncated_file_is_refused(stopped: Path, name: str, share: float) -> None:
    path = stopped / name
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(RunError, match=name):
        resume(stopped)


def test_a_journal_that_lost_its_end_is_gone_on_with(stopped: Path) -> None:
    path = stopped / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    watcher = Stopper(0, nothing)
    resume(stopped, ["training.max_updates=21"], watcher=watcher)
    assert [e["update"] for e in read_journal(path)][-2:] == [21, 21]
    (gap,) = [notice for notice in watcher.notices if "missing" in notice]
    assert gap.startswith(f"{path}: ") and "the curve has a gap" in gap


def test_nothing_is_said_of_a_whole_journal(stopped: Path) -> None:
    watcher = Stopper(0, nothing)
    resume(stopped, ["training.max_updates=21"], watcher=watcher)
    assert not [notice for notice in watcher.notices if "journal" in notice]


def test_a_checkpoint_counts_on_a_journal_that_the_disk_has(
    unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal, "sync", full)
    with pytest.raises(TransduceError, match=r"journal\.jsonl: could not be written \(No space left on device\)"):
        train(tiny_experiment(unbroken), tmp_path / "run")
    assert not list((tmp_path / "run/checkpoints").glob("*"))


def test_text_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    train(tiny_experiment(tmp_path, max_updates=1), path)
    write_lines(tmp_path / "valid.txt", ["red blue"])
    with pytest.raises(RunError, match="the valid text has changed since this run began"):
        resume(path)


def test_a_checkpoint_of_another_shape_is_refused(stopped: Path) -> None:
    path = stopped / "experiment.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("d_model = 12", "d_model = 15"), encoding="utf-8")
    with pytest.raises(RunError, match="the experiment asks for"):
        resume(stopped)


def test_data_that_is_refused_leaves_the_name_of_the_run_free(tmp_path: Path) -> None:
    experiment = tiny_experiment(tmp_path, max_updates=1)
    valid = (tmp_path / "valid.txt").read_text(encoding="utf-8")
    write_lines(tmp_path / "valid.txt", ["red", ""])
    with pytest.raises(ValueError, match=r"line 2: .*an empty side in held-out text"):
        train(experiment, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "valid.txt").write_text(valid, encoding="utf-8")
    assert train(experiment, tmp_path / "run").reason


def test_a_faulty_test_set_is_told_before_training(tmp_path: Path) -> None:
    settings = tiny_experiment(tmp_path, max_updates=1).model_dump()
    test = write_lines(tmp_path / "test.txt", ["red", "\t"])
    settings["data"]["test"] = {"held": {"source": test, "target": test}}
    with pytest.raises(ValueError, match=r"line 2: .*an empty side in held-out text"):
        train(Experiment.model_validate(settings), tmp_path / "run", Stopper(1, kill))
    assert not (tmp_path / "run").exists()


def test_checkpoints_hold_only_what_is_theirs(unbroken: Path) -> None:
    snapshot = Snapshot(unbroken / "run/checkpoints/step-20")
    assert sorted(p.name for p in snapshot.folder.iterdir()) == [
        "manifest.json",
        "optimizer.safetensors",
        "state.json",
        "weights.safetensors",
    ]
    assert sorted(p.name for p in (unbroken / "run").iterdir()) == [
        "average", "best", "checkpoints", "curve.png", "data.json", "experiment.toml", "journal.jsonl",
        "results.json", "tokenizer.json",
    ]  # fmt: skip


def test_a_second_signal_acts_as_it_would_have_without_us() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with catch_signals() as interruption:
        assert interruption.signal == 0
        signal.raise_signal(signal.SIGINT)
        assert interruption.signal == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
