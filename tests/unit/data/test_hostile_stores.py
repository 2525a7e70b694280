"""A cache that a bad disk or an enemy changed: noticed before a wrong id reaches a model, and built anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.copy_run import tiny_experiment
from transduce.data.report import Report
from transduce.data.store import Example, Store
from transduce.errors import RunError
from transduce.experiment import Experiment
from transduce.recipe import learn_tokenizers, prepare_data

VOCABULARIES = {"source": 30, "target": 70_000}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    rows = [([21, 22, 23], [31]), ([24], [32, 33])]
    examples = (Example({"source": s, "target": t}, line=i + 1, corpus=i) for i, (s, t) in enumerate(rows))
    return Store.build(tmp_path / "store", VOCABULARIES, examples)


def change(path: Path, dtype: str, place: int, value: int) -> None:
    array = np.fromfile(path, dtype)
    array[place] = value
    array.tofile(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("examples", -1), ("examples", 2.0), ("examples", "2"), ("examples", True), ("examples", 10**30),
        ("examples", float("inf")), ("examples", None), ("streams", []), ("streams", {"source": 3}), ("format", [2]),
    ],
)  # fmt: skip
def test_headers(store: Store, name: str, value: Any) -> None:
    path = store.folder / "header.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), name: value}))
    with pytest.raises(RunError, match=str(store.folder)):
        Store.open(store.folder)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"examples":' + b"9" * 5000 + b"}", b"[]", b"\xff"])
def test_headers_that_are_no_header(store: Store, content: bytes) -> None:
    (store.folder / "header.json").write_bytes(content)
    with pytest.raises(RunError, match=r"header\.json: damaged header"):
        Store.open(store.folder)


def test_a_folder_in_the_place_of_a_file(store: Store) -> None:
    (store.folder / "header.json").unlink()
    (store.folder / "header.json").mkdir()
    with pytest.raises(RunError, match=r"cannot be read \(Is a directory\)"):
        Store.open(store.folder)


@pytest.mark.parametrize("value", [-1, 9])
def test_offsets_that_go_back(store: Store, value: int) -> None:
    change(store.folder / "source.offsets.bin", "<i8", 1, value)
    with pytest.raises(RunError, match="the offsets of `source` don't fit"):
        Store.open(store.folder)


def test_what_is_right_is_right(store: Store) -> None:
    store.check(VOCABULARIES, 2)


@pytest.mark.parametrize(
    ("part", "dtype", "value"),
    [("source.ids", "<u2", 30), ("target.ids", "<i4", 70_000), ("target.ids", "<i4", -1), ("corpora", "<i4", 2)],
)
def test_numbers_that_nothing_stands_for(store: Store, part: str, dtype: str, value: int) -> None:
    change(store.folder / f"{part}.bin", dtype, 1, value)
    with pytest.raises(RunError, match=rf"{part}\.bin: a number that is not below"):
        Store.open(store.folder).check(VOCABULARIES, 2)


def test_other_streams(store: Store) -> None:
    with pytest.raises(RunError, match="other streams than target"):
        store.check({"target": 70_000}, 2)


@pytest.mark.parametrize(
    "change_report",
    [
        lambda tree: tree["corpora"][0].update(kept=210),
        lambda tree: tree["corpora"][0].update(read=-1, kept=-1),
        lambda tree: tree["corpora"][0]["unknown"].update(source=10**9),
        lambda tree: tree["corpora"][0]["tokens"].pop("source"),
        lambda tree: tree["corpora"][0].update(moments=[1.0]),
        lambda tree: tree["corpora"][0].update(moments=[float("nan")] * 6),
        lambda tree: tree["corpora"].append(tree["corpora"][0]),
        lambda tree: tree.update(corpora=[]),
    ],
)
def test_a_cache_with_a_changed_report_is_built_anew(tmp_path: Path, change_report: Callable[[Any], object]) -> None:
    experiment = tiny_experiment(tmp_path)
    first = made(experiment, tmp_path)
    path = first / "report.json"
    whole = path.read_bytes()
    tree = json.loads(whole)
    change_report(tree)
    path.write_text(json.dumps(tree))
    assert made(experiment, tmp_path) == first
    assert path.read_bytes() == whole


def made(experiment: Experiment, folder: Path) -> Path:
    found = prepare_data(experiment, learn_tokenizers(experiment), folder / "cache")
    found.report.render()
    return found.store.folder


def test_a_report_whose_sums_are_enormous_has_no_correlation() -> None:
    report = Report.from_json({"corpora": [{"name": "x", "moments": [1e308] * 6}], "languages": ["de", "en"]})
    report.render()
    json.dumps(report.to_json(), allow_nan=False)
