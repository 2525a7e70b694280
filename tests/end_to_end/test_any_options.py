"""Whatever is given to the commands that train or serve for long: they begin, or it is refused in words.

What would take long is cut off where it begins. The exit code is 0, or 2 with a message; `cli` lets every exception of
ours fail the test.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.anything import REAL, TYPED, WHOLE, Examples, told
from tests.support.command import InProcess
from tests.support.fresh_run import fresh_run
from transduce.commands import ablate, compare, demo
from transduce.serving import server

Strategies = dict[str, st.SearchStrategy[str]]


def begun(*_: Any, **__: Any) -> None:
    raise SystemExit(0)


def some_of(options: Strategies) -> st.SearchStrategy[list[str]]:
    """Up to three of these options, none twice, as words of a command line."""
    one = st.one_of([st.tuples(st.just(name), values) for name, values in options.items()])
    chosen = st.lists(one, max_size=3, unique_by=lambda option: option[0])
    return chosen.map(lambda found: [f"--{name}={value}" for name, value in found])


SETTINGS = TYPED | st.sampled_from(
    ["training.seed=2", "training.seed=-1", "model.d_model=1e9", "model.kind=rnn", "x=1"]
)
OPTIONS: dict[str, Strategies] = {
    "compare": {
        "tokens": WHOLE, "minutes": REAL, "score": REAL, "set": SETTINGS,
        "only": st.sampled_from(["rnn", "transformer", "demonstrations"]) | TYPED,
    },
    "ablate": {
        "rows": st.sampled_from(["E", "A,C", "E,E", "big", ",", ""]) | TYPED, "seeds": WHOLE | st.just("1,1") | TYPED,
        "tokens": WHOLE, "set": SETTINGS,
    },
    "demo": {"seed": WHOLE},
    "serve": {
        **dict.fromkeys(("port", "max-body", "max-characters", "max-inspected", "max-texts", "max-nbest"), WHOLE),
        **dict.fromkeys(("queue", "batch", "threads"), WHOLE),
        "deadline": REAL,
        **dict.fromkeys(("host", "rate", "allow-host", "allow-origin", "trust-proxy", "quantize", "weights"), TYPED),
        "device": st.sampled_from(["auto", "cpu"]) | TYPED,
    },
}  # fmt: skip


@pytest.fixture
def command(experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[object, ...]]:
    """The words that each command begins with; its work ends where it would begin."""
    monkeypatch.chdir(tmp_path)
    for module in (compare, ablate):
        monkeypatch.setattr(module, "train_all", begun)
    monkeypatch.setattr(demo, "train", begun)
    monkeypatch.setattr(server, "serve", begun)
    run = fresh_run(tmp_path / "word", "word")
    words: dict[str, tuple[object, ...]] = {
        "compare": ("--data", experiment, "--out", tmp_path / "compare"),
        "ablate": (experiment, "--run", tmp_path / "ablate"),
        "demo": ("--run", tmp_path / "demo"),
        "serve": ("--run", run, "--port", 0),
    }
    return lambda name: (name, *words[name])


@pytest.mark.parametrize("name", OPTIONS)
def test_options(cli: InProcess, few: Examples, command: Callable[[str], tuple[object, ...]], name: str) -> None:
    assert told(cli(*command(name))), "without more options it begins"

    @few(30)
    @given(options=some_of(OPTIONS[name]))
    def check(options: list[str]) -> None:
        told(cli(*command(name), *options))

    check()


@pytest.mark.parametrize("name", OPTIONS)
def test_places(cli: InProcess, few: Examples, command: Callable[[str], tuple[object, ...]], name: str) -> None:
    """A path that leads anywhere, or nowhere; what is written stays below the folder of the test."""
    option = {"compare": "--data", "ablate": "--run", "demo": "--run", "serve": "--api-key-file"}[name]

    @few(15)
    @given(place=TYPED.map(lambda text: text.replace("/", "_").replace("..", "_")))
    def check(place: str) -> None:
        told(cli(*command(name), f"{option}={place}"))

    check()
