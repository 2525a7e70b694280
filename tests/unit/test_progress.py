"""What a person sees while a model trains."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.copy_run import tiny_experiment
from transduce.commands import progress
from transduce.commands.progress import TerminalWatcher
from transduce.data.report import Report
from transduce.experiment import Experiment
from transduce.recipe import Announcement
from transduce.training.state import TrainingState
from transduce.training.validation import Validation


def watch(folder: Path, *, terminal: bool) -> tuple[TerminalWatcher, io.StringIO]:
    experiment = tiny_experiment(folder)
    probe = {"source": "我爱水课", "prefix": "I love", "words": (" easy", " water")}
    settings = experiment.model_dump() | {"validation": {"sentences": 0, "probes": (probe,)}}
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=200, highlight=False, soft_wrap=True)
    return TerminalWatcher(Experiment.model_validate(settings), console), stream


def test_lines_where_no_one_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    watcher, stream = watch(tmp_path, terminal=False)
    with watcher:
        watcher.preparing("reading")
        watcher.updated(TrainingState(update=1, target_tokens=1000, seconds=10.0), 3.0, 0.1, 1201)
        watcher.updated(TrainingState(update=2, target_tokens=4000, seconds=12.0), 2.0, 0.1, 1201)
        watcher.validated(TrainingState(update=2), Validation(2.5, 31.0, 47.0, [{"easy": 0.75, "water": 0.125}]), True)
        watcher.say("[red] :cat: {x}")
    assert stream.getvalue().split("\n") == [
        "reading …",
        "step 1/1,201  … tokens/s  loss 3.000  3:20:00 left",
        "step 2/1,201  1,500 tokens/s  loss 2.500  1:59:54 left",
        "update 2: validation loss 2.500  BLEU 31.0  chrF 47.0  after “I love”: P(easy) 0.750  P(water) 0.125  (best)",
        "[red] :cat: {x}",
        "",
    ]
    assert watcher.validations[0][0] == 2


def test_time_left_is_at_the_pace_since_it_was_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    watcher, stream = watch(tmp_path, terminal=False)
    with watcher:
        watcher.announced(Announcement(Report(), "cpu", 1, (8, 8), "one sentence", resumed_at=100))
        watcher.updated(TrainingState(update=101, target_tokens=0, seconds=5000.0), 3.0, 0.1, 1103)
        watcher.updated(TrainingState(update=103, target_tokens=0, seconds=5001.0), 3.0, 0.1, 1103)
    first, second = stream.getvalue().splitlines()[-2:]
    assert first == "step 101/1,103  … tokens/s  loss 3.000  …"
    assert second == "step 103/1,103  0 tokens/s  loss 3.000  8:20 left"


@pytest.mark.parametrize(
    ("update", "gain", "told"), [(6, 0.0, False), (7, 0.0, True), (8, -0.25, True), (9, 0.06, False), (9, None, False)]
)
def test_case_92_sources_that_are_worth_nothing_are_told_after_warm_up(
    tmp_path: Path, update: int, gain: float | None, told: bool
) -> None:
    watcher, stream = watch(tmp_path, terminal=False)
    watcher.probes = ()
    with watcher:
        watcher.validated(TrainingState(update=update), Validation(2.5, source_gain=gain), False)
    warning = f"warning: its own source is worth {gain or 0:+.3f} nats a token more to a sentence than another's: the"
    assert (warning in stream.getvalue()) == told == ("warning" in stream.getvalue())


def test_lines_are_not_more_than_one_in_a_while(tmp_path: Path) -> None:
    watcher, stream = watch(tmp_path, terminal=False)
    with watcher:
        watcher._last_line = 1e12
        for n in range(1, 31):
            watcher.updated(TrainingState(update=n, target_tokens=n, seconds=n), 3.0, 0.1, 31)
    assert stream.getvalue() == ""


def test_one_live_line_on_a_terminal(tmp_path: Path) -> None:
    watcher, stream = watch(tmp_path, terminal=True)
    with watcher:
        watcher._progress.start()
        for n in range(1, 4):
            watcher.updated(TrainingState(update=n, target_tokens=100 * n, seconds=n), 3.0, 0.1, 31)
        watcher._progress.refresh()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "step 3/31  100 tokens/s  loss 3.000  0:28 left" in shown
