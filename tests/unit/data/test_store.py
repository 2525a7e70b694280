from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from transduce.data import store as store_module
from transduce.data.store import Example, Store, cached_store
from transduce.errors import RunError

ROWS = [([21, 22, 23], [31]), ([], [32, 33]), ([24, 25], [34, 35, 36, 37, 38])]
VOCABULARIES = {"source": 65_536, "target": 65_537}


def examples(rows=ROWS):
    for i, (source, target) in enumerate(rows):
        yield Example({"source": source, "target": target}, line=7 * i + 1, corpus=i % 2)


@pytest.fixture
def store(tmp_path):
    return Store.build(tmp_path / "cache" / "store", VOCABULARIES, examples(), key="k")


def test_what_was_stored_is_read(store):
    store = Store.open(store.folder)
    assert (len(store), store.streams, store.key) == (3, ("source", "target"), "k")
    for i, (source, target) in enumerate(ROWS):
        assert store.ids("source", i).tolist() == source
        assert store.ids("target", i).tolist() == target
        assert (store.line(i), store.corpus(i)) == (7 * i + 1, i % 2)
    assert store.lengths("source").tolist() == [3, 0, 2]
    assert store.lengths("target").tolist() == [1, 2, 5]


def test_small_vocabularies_take_two_bytes_and_views_are_read_only(store):
    assert store.ids("source", 0).dtype == np.uint16
    assert store.ids("target", 0).dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        store.ids("source", 0)[0] = 1


def test_weights_come_from_the_corpora(store):
    assert store.weights([1.0, 1.0]) is None
    assert store.weights([0.5, 3.0]).tolist() == [0.5, 3.0, 0.5]


def test_where_examples_come_from_names_corpus_and_lines(store):
    assert store.origin(np.array([2, 1, 0]), ["a.tsv", "b.tsv"]) == "lines 15, 1 of a.tsv; line 8 of b.tsv"
    assert store.origin(np.array([1, 1, 1, 1, 1, 0]), ["a.tsv", "b.tsv"]) == "lines 8, 8, 8, 8, 8 of b.tsv; …"


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="Linux tells what is mapped")
def test_what_was_mapped_is_let_go_and_read_again(tmp_path):
    def mapped():
        (line,) = [line for line in Path("/proc/self/status").read_text("ascii").splitlines() if "RssFile" in line]
        return int(line.split()[1]) * 1024

    size = 16 << 20
    store = Store.build(tmp_path / "s", {"target": 300}, [Example({"target": np.full(size, 299)}, 1, 0)])
    before = mapped()
    assert int(store.ids("target", 0).sum(dtype=np.int64)) == 299 * size
    assert mapped() - before > size
    store.release()
    assert mapped() - before < size / 2
    assert int(store.ids("target", 0)[-1]) == 299


def test_chunks_join_without_a_seam(tmp_path, monkeypatch):
    rows = [([n] * (n % 5), [n] * (n % 3)) for n in range(23)]
    monkeypatch.setattr(store_module, "CHUNK", 7)
    store = Store.build(tmp_path / "s", VOCABULARIES, examples(rows))
    assert [(store.ids("source", i).tolist(), store.ids("target", i).tolist()) for i in range(23)] == rows


def test_an_empty_store_can_be_opened(tmp_path):
    store = Store.build(tmp_path / "s", VOCABULARIES, iter(()))
    assert (len(store), store.lengths("source").tolist()) == (0, [])


def test_no_file_is_a_pickle(store):
    assert {path.suffix for path in store.folder.iterdir()} == {".bin", ".json"}
    assert (store.folder / "lines.bin").stat().st_size == 3 * 8


@pytest.mark.parametrize("name", ["source.ids", "source.offsets", "target.ids", "lines", "corpora"])
@pytest.mark.parametrize("change", [-1, 1])
def test_a_truncated_or_longer_file_is_refused(store, name, change):
    path = store.folder / f"{name}.bin"
    content = path.read_bytes()
    path.write_bytes(content[:-1] if change < 0 else content + b"\0")
    with pytest.raises(RunError, match=rf"{name}\.bin: {len(content) + change} bytes, expected {len(content)}"):
        Store.open(store.folder)


def test_offsets_that_do_not_fit_are_refused(store):
    (store.folder / "source.offsets.bin").write_bytes(np.array([0, 3, 3, 4], "<i8").tobytes())
    with pytest.raises(RunError, match="offsets of `source`"):
        Store.open(store.folder)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"3", b'{"format": 1}', b'{"format": 1, "examples": "x", "key": ""}']
)
def test_a_damaged_header_is_refused(store, content):
    (store.folder / "header.json").write_bytes(content)
    with pytest.raises(RunError, match="damaged header"):
        Store.open(store.folder)


def test_ids_of_a_type_that_no_store_has_are_refused(store):
    header = json.loads((store.folder / "header.json").read_text())
    header["streams"]["source"]["dtype"] = "O"
    (store.folder / "header.json").write_text(json.dumps(header))
    with pytest.raises(RunError, match=r"damaged header.*ids of type O"):
        Store.open(store.folder)


def test_a_missing_file_or_another_format_is_refused(store):
    with pytest.raises(RunError, match="no complete store"):
        Store.open(store.folder / "nowhere")
    header = json.loads((store.folder / "header.json").read_text())
    (store.folder / "header.json").write_text(json.dumps(header | {"format": 2}))
    with pytest.raises(RunError, match="store of format 2, expected 1"):
        Store.open(store.folder)


def test_a_build_that_fails_leaves_nothing(tmp_path):
    def broken():
        yield from examples()
        raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        Store.build(tmp_path / "s", VOCABULARIES, broken())
    with pytest.raises(ValueError, match="ids from 21 to 25 in a vocabulary of 25"):
        Store.build(tmp_path / "s", {"source": 25, "target": 99}, examples())
    with pytest.raises(ValueError, match="identifier"):
        Store.build(tmp_path / "s", {"../x": 25}, iter(()))
    assert list(tmp_path.iterdir()) == []


def test_of_two_builders_the_first_one_wins(tmp_path):
    def slow():
        yield from examples()
        Store.build(tmp_path / "s", VOCABULARIES, examples(), key="k")

    store = Store.build(tmp_path / "s", VOCABULARIES, slow(), key="k")
    assert len(store) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    with pytest.raises(RunError, match="holds something else"):
        Store.build(tmp_path / "s", VOCABULARIES, examples(), key="other")


def test_a_cached_store_is_built_once_and_anew_when_damaged(tmp_path):
    built = []

    def build(folder):
        built.append(folder)
        return Store.build(folder, VOCABULARIES, examples())

    for _ in range(3):
        store = cached_store(tmp_path / "s", build)
    assert built == [tmp_path / "s"]
    (store.folder / "lines.bin").write_bytes(b"")
    assert cached_store(tmp_path / "s", build).line(2) == 15
    assert len(built) == 2
