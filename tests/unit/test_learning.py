"""What tokenizers learn from: all of the text, or an even part of one that memory would not hold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.copy_run import copy_settings, tiny_experiment, write_lines
from transduce.data import passes
from transduce.errors import DataError
from transduce.experiment import Experiment
from transduce.recipe import text
from transduce.text import bpe
from transduce.text.pair import Tokenizers


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The pairs that a tokenizer was last trained on."""
    found: list[tuple[str, ...]] = []

    def train(config: object, pairs: Callable[[], Iterable[tuple[str, ...]]], **options: Any) -> None:
        found[:] = pairs()

    monkeypatch.setattr(Tokenizers, "train", train)
    monkeypatch.setattr(text, "SAMPLE", 20)
    return found


def experiment(folder: Path, kind: str) -> Experiment:
    """Two corpora of 30 and 21 pairs; each pair has a word of six bytes that no other has, space included."""
    settings = copy_settings(folder, tokenizer={"kind": kind, "minimum_count": 1})
    shards = []
    for name, numbers in (("one", range(30)), ("two", range(30, 51))):
        path = write_lines(folder / f"{name}.txt", [f"red w{number:04}" for number in numbers])
        shards.append({"source": path, "target": path})
    settings["data"]["train"] = shards
    return Experiment.model_validate(settings)


@pytest.mark.parametrize(("room", "every"), [(17 * 5, 3), (51 * 5, 1), (10**9, 1)])
def test_every_nth_pair_is_learned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learned: list[tuple[str, ...]], room: int, every: int
) -> None:
    monkeypatch.setattr(bpe, "LEARNED_BYTES", room)
    text.learn_tokenizers(experiment(tmp_path, "bpe"))
    expected = [f"red w{number:04}" for number in range(0, 51, every)]
    assert learned == [(line, line) for line in expected]


def test_other_vocabularies_learn_from_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learned: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(bpe, "LEARNED_BYTES", 1)
    text.learn_tokenizers(experiment(tmp_path, "word"))
    assert len(learned) == 51


def test_a_vocabulary_is_learned_once_from_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, cache = experiment(tmp_path, "bpe"), tmp_path / "cache"
    first = text.learn_tokenizers(given, cache)
    asked: list[object] = []
    original = Tokenizers.train

    def train(*arguments: Any, **options: Any) -> Tokenizers:
        asked.append(arguments)
        return original(*arguments, **options)

    monkeypatch.setattr(Tokenizers, "train", train)
    assert text.learn_tokenizers(given, cache).fingerprint == first.fingerprint
    assert not asked

    settings = given.model_dump()
    fewer = settings | {"tokenizer": {**settings["tokenizer"], "vocabulary": 300}}
    shorter = settings | {"data": {**settings["data"], "filters": {**settings["data"]["filters"], "max_length": 7}}}
    held_out = settings | {"data": {**settings["data"], "test": {"one": settings["data"]["train"][0]}}}
    for number, other in enumerate((fewer, shorter, held_out), start=1):
        text.learn_tokenizers(Experiment.model_validate(other), cache)
        assert len(asked) == number

    (path,) = [p for p in cache.iterdir() if Tokenizers.load(p).fingerprint == first.fingerprint][:1]
    for kept in cache.iterdir():
        kept.write_bytes(kept.read_bytes()[:99])
    assert text.learn_tokenizers(given, cache).fingerprint == first.fingerprint
    assert len(asked) == 4 and Tokenizers.load(path).fingerprint == first.fingerprint
    (tmp_path / "two.txt").write_text("new\n", encoding="utf-8")
    assert text.learn_tokenizers(given, cache).fingerprint != first.fingerprint


def test_a_text_that_the_program_makes_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    settings = experiment(tmp_path, "word").model_dump()
    settings["data"]["valid"] = {"builtin": "dates-valid"}
    text.learn_tokenizers(Experiment.model_validate(settings), tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_large_text_is_prepared_by_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, cache = tiny_experiment(tmp_path), tmp_path / "cache"
    text.prepare_aside(given, cache)
    assert not cache.exists(), "it is not large"
    monkeypatch.setattr(text, "LARGE", 200)
    text.prepare_aside(given, cache)
    made = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    monkeypatch.setattr(Tokenizers, "train", lambda *_, **__: pytest.fail("it was learned there"))
    tokenizers = text.learn_tokenizers(given, cache)
    assert len(text.prepare_data(given, tokenizers, cache).store) == 211
    assert len(made) == 2 and {path: path.stat().st_mtime_ns for path in cache.iterdir()} == made


def test_what_goes_wrong_there_is_told_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, cache = tiny_experiment(tmp_path), tmp_path / "cache"
    monkeypatch.setattr(text, "LARGE", 1)
    (tmp_path / "train.txt").write_bytes(b"\xff\n" * 9)
    text.prepare_aside(given, cache)
    with pytest.raises(DataError, match=r"train\.txt"):
        text.learn_tokenizers(given, cache)


def test_how_far_it_is_there_is_told_here_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing else of what it says."""
    monkeypatch.setattr(text, "LARGE", 1)
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho out\necho '  half' >&2\necho 'error: x' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    told: list[str] = []
    text.prepare_aside(tiny_experiment(tmp_path), tmp_path / "cache", told.append)
    assert told == ["half"]


def test_learning_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "EVERY", 0.0)
    monkeypatch.setattr(passes, "LOOK", 40)
    told: list[str] = []
    text.learn_tokenizers(experiment(tmp_path, "word"), tell=told.append)
    assert {line.split(" pairs  ")[0] for line in told} == {"reading the text for its vocabulary: 40 of 51"}
