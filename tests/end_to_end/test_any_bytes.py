"""Whatever stands in a text, a file or an option: it works, line for line, or it is refused in words.

The exit code is 0, or 2 with a message; `cli` lets every exception of ours fail the test.
"""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.end_to_end.test_unicode import line_ends
from tests.support.anything import CONTENT, REAL, TYPED, WHOLE, Examples, told
from tests.support.command import InProcess, transduce
from tests.support.fresh_run import HALVES, fresh_run
from tests.support.mutants import mutant

TRANSLATORS = ("word", "bpe_sides", "character", "pieces", "seq2seq")
QUICK = ("--beam", 1, "--max-extra", 3)


def lines_in(content: bytes) -> int:
    """Each line feed ends one; a last line may have none. A byte order mark at the start is no text."""
    text = content.removeprefix(b"\xef\xbb\xbf")
    return text.count(b"\n") + bool(text and not text.endswith(b"\n"))


def without_endings(text: str) -> list[str]:
    """The lines of a text; a carriage return belongs to the ending only where a line feed follows."""
    *lines, last = text.split("\n")
    return [line.removesuffix("\r") for line in lines] + [last]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return {name: fresh_run(folder / name, name) for name in (*TRANSLATORS, *HALVES)}


def test_translate_typed_texts(cli: InProcess, few: Examples, runs: dict[str, Path]) -> None:
    """Each argument is a text; a line feed in it stays in it."""

    @few(20)
    @given(texts=st.lists(TYPED, min_size=1, max_size=3), prefix=st.none() | TYPED, run=st.sampled_from(TRANSLATORS))
    def check(texts: list[str], prefix: str | None, run: str) -> None:
        forced = [] if prefix is None else [f"--prefix={prefix}"]
        done = cli("translate", "--run", runs[run], *QUICK, *forced, "--", *texts)
        if told(done):
            assert done.out.count(b"\n") == sum(text.count("\n") + 1 for text in texts)
            done.out.decode("utf-8")

    check()


def test_translate_files_in_every_wrapping(
    cli: InProcess, few: Examples, runs: dict[str, Path], tmp_path: Path
) -> None:
    wrappings: dict[str, Callable[[bytes], bytes]] = {".txt": bytes, ".gz": gzip.compress, ".XZ": lzma.compress}

    @few(6)
    @given(content=CONTENT, run=st.sampled_from(TRANSLATORS))
    def check(content: bytes, run: str) -> None:
        outputs = set()
        for suffix, wrap in wrappings.items():
            path = tmp_path / f"text{suffix}"
            path.write_bytes(wrap(content))
            done = cli("translate", "--run", runs[run], *QUICK, "--file", path).succeeded()
            told(done)
            outputs.add(done.out)
        cli("translate", "--run", runs[run], *QUICK, "-o", tmp_path / "out.txt", stdin=content).succeeded()
        outputs.add((tmp_path / "out.txt").read_bytes())
        assert len(outputs) == 1, "the same text gives the same lines, however it comes"
        assert line_ends(outputs.pop()) == line_ends(content.removeprefix(b"\xef\xbb\xbf"))

    check()


def test_translate_archives_that_are_none(cli: InProcess, few: Examples, runs: dict[str, Path], tmp_path: Path) -> None:
    """What came before the damage may have been translated."""
    whole = {"gz": gzip.compress(b"red\n" * 7), "xz": lzma.compress(b"red\n" * 7)}

    @few(25)
    @given(suffix=st.sampled_from(sorted(whole)), seed=st.integers(0, 10**6), content=st.none() | CONTENT)
    def check(suffix: str, seed: int, content: bytes | None) -> None:
        path = tmp_path / f"text.{suffix}"
        path.write_bytes(mutant(whole[suffix], "bytes", str(seed)) if content is None else content)
        told(cli("translate", "--run", runs["word"], *QUICK, "--file", path))

    check()


def test_translate_in_every_shape_of_output(cli: InProcess, few: Examples, runs: dict[str, Path]) -> None:
    @few(10)
    @given(content=CONTENT, run=st.sampled_from(TRANSLATORS))
    def check(content: bytes, run: str) -> None:
        command = ("translate", "--run", runs[run], "--beam", 3, "--max-extra", 3)
        plain = cli(*command, stdin=content).succeeded().out.decode("utf-8")
        lines = without_endings(plain)
        count = lines_in(content)

        scored = without_endings(cli(*command, "--scores", stdin=content).succeeded().out.decode("utf-8"))
        assert [row.partition("\t")[2] for row in scored[:count]] == lines[:count]
        assert all(float(row.partition("\t")[0]) <= 0 for row in scored[:count])

        ranked = [row.split("\t", 3) for row in cli(*command, "--nbest", 2, stdin=content).succeeded().lines]
        assert sorted({int(row[0]) for row in ranked}) == list(range(1, count + 1))
        assert [row[3] for row in ranked if row[1] == "1"] == lines[:count]

        objects = [json.loads(row) for row in cli(*command, "--jsonl", stdin=content).succeeded().lines]
        assert [row["line"] for row in objects] == list(range(1, count + 1))
        assert [row["text"] for row in objects] == lines[:count]

    check()


OPTIONS: dict[str, st.SearchStrategy[str]] = {
    **dict.fromkeys(("beam", "nbest", "max-extra", "batch"), st.integers(1, 7).map(str) | WHOLE),
    **dict.fromkeys(("min-length", "no-repeat-ngram", "top-k", "seed", "threads"), st.integers(0, 7).map(str) | WHOLE),
    **dict.fromkeys(("length-penalty", "temperature", "top-p"), st.floats(0, 2).map(str) | REAL),
    "unknown": st.sampled_from(["avoid", "mark", "copy"]) | TYPED,
    "without-letters": st.sampled_from(["keep", "translate"]) | TYPED,
    "weights": st.sampled_from(["auto", "best", "last", "average"]) | TYPED,
    "device": st.sampled_from(["auto", "cpu"]) | TYPED,
}


def test_translate_with_any_options(cli: InProcess, few: Examples, runs: dict[str, Path]) -> None:
    one = st.one_of([st.tuples(st.just(name), values) for name, values in OPTIONS.items()])

    @few(60)
    @given(options=st.lists(one, max_size=3, unique_by=lambda option: option[0]), sample=st.booleans())
    def check(options: list[tuple[str, str]], sample: bool) -> None:
        words = [f"--{name}={value}" for name, value in options]
        done = cli("translate", "--run", runs["word"], *words, *(["--sample"] if sample else []), "red blue", "x")
        if told(done) and "nbest" not in dict(options):
            assert len(done.lines) == 2

    check()


def test_score(cli: InProcess, few: Examples, runs: dict[str, Path], tmp_path: Path) -> None:
    @few(15)
    @given(source=CONTENT, target=CONTENT, same=st.booleans(), run=st.sampled_from(TRANSLATORS), jsonl=st.booleans())
    def check(source: bytes, target: bytes, same: bool, run: str, jsonl: bool) -> None:
        (tmp_path / "s").write_bytes(source)
        (tmp_path / "t").write_bytes(source if same else target)
        done = cli("score", tmp_path / "s", tmp_path / "t", "--run", runs[run], *(["--jsonl"] if jsonl else []))
        if told(done):
            assert len(done.lines) == lines_in(source)
            if jsonl:
                assert all(json.loads(line)["log_probability"] <= 0 for line in done.lines)

    check()


def test_evaluate(cli: InProcess, few: Examples, runs: dict[str, Path], tmp_path: Path) -> None:
    @few(10)
    @given(test=CONTENT, reference=CONTENT, same=st.booleans(), run=st.sampled_from(TRANSLATORS))
    def check(test: bytes, reference: bytes, same: bool, run: str) -> None:
        (tmp_path / "test").write_bytes(test)
        (tmp_path / "reference").write_bytes(test if same else reference)
        done = cli("evaluate", "--run", runs[run], "--beam", 1, "--test", tmp_path / "test", tmp_path / "reference",
                   "--against", tmp_path / "reference", "--rows", tmp_path / "rows", "--jsonl")  # fmt: skip
        if told(done):
            assert {s["name"] for s in json.loads(done.out)["scores"]} >= {"BLEU", "exact"}
            rows = (tmp_path / "rows").read_text(encoding="utf-8").split("\n")[:-1]
            assert [json.loads(row)["line"] for row in rows] == list(range(1, len(rows) + 1))

    check()


def test_inspect(cli: InProcess, few: Examples, runs: dict[str, Path], tmp_path: Path) -> None:
    @few(5)
    @given(sentence=TYPED, target=st.none() | TYPED, run=st.sampled_from(TRANSLATORS))
    def check(sentence: str, target: str | None, run: str) -> None:
        forced = [] if target is None else [f"--target={target}"]
        told(cli("inspect", "--run", runs[run], "--out", tmp_path / "x.npz", *forced, "--", sentence))

    check()


def test_fill(cli: InProcess, few: Examples, runs: dict[str, Path], tmp_path: Path) -> None:
    blanks = st.lists(st.tuples(TYPED, TYPED).map("[MASK]".join) | TYPED, min_size=1, max_size=2)

    @few(10)
    @given(texts=blanks, content=st.none() | CONTENT)
    def check(texts: list[str], content: bytes | None) -> None:
        (tmp_path / "text").write_bytes(content or b"")
        words = ["--", *texts] if content is None else ["--file", tmp_path / "text"]
        done = cli("fill", "--run", runs["mask"], "--jsonl", *words)
        if told(done):
            count = len(texts) if content is None else lines_in(content)
            assert [json.loads(line)["line"] for line in done.lines] == list(range(1, count + 1))

    check()


def test_vectors(cli: InProcess, few: Examples, runs: dict[str, Path], tmp_path: Path) -> None:
    @few(10)
    @given(
        texts=st.lists(TYPED, min_size=1, max_size=2),
        content=st.none() | CONTENT,
        pooling=st.sampled_from(["mean", "first"]),
    )
    def check(texts: list[str], content: bytes | None, pooling: str) -> None:
        (tmp_path / "text").write_bytes(content or b"")
        words = ["--", *texts] if content is None else ["--file", tmp_path / "text"]
        done = cli("vectors", "--run", runs["mask"], "--pooling", pooling, *words)
        if told(done):
            rows = [[float(x) for x in line.split("\t")] for line in done.lines]
            assert len(rows) == (len(texts) if content is None else lines_in(content))
            assert np.isfinite(rows).all()

    check()


def test_generate(cli: InProcess, few: Examples, runs: dict[str, Path], tmp_path: Path) -> None:
    @few(8)
    @given(prompts=st.lists(TYPED, min_size=1, max_size=2), content=st.none() | CONTENT, jsonl=st.booleans())
    def check(prompts: list[str], content: bytes | None, jsonl: bool) -> None:
        (tmp_path / "text").write_bytes(content or b"")
        words = ["--", *prompts] if content is None else ["--file", tmp_path / "text"]
        shape = ["--jsonl"] if jsonl else []
        done = cli("generate", "--run", runs["generate"], "--max-tokens", 3, *shape, *words)
        if told(done):
            count = len(prompts) if content is None else lines_in(content)
            assert len(done.lines) == count, "a line feed in a prompt comes back as a space"

    check()


def test_as_processes(runs: dict[str, Path], tmp_path: Path) -> None:
    """Bytes that are no UTF-8 in arguments, on standard input and in files, where nothing of Python's is in between."""
    nasty = b"red \xff\r\n\xe2\x80\xa8\x85\0x\n\n\xed\xa0\x80"
    done = transduce("translate", "--run", runs["word"], *QUICK, stdin=nasty).succeeded()
    assert told(done) and line_ends(done.out) == line_ends(nasty)
    (tmp_path / "text").write_bytes(nasty)
    done = transduce("evaluate", "--run", runs["word"], "--test", tmp_path / "text", tmp_path / "text")
    assert not told(done) and f"{tmp_path / 'text'}, line 1, column 5: not UTF-8" in done.err
    typed = b"red \xff\xe2\x80\xa8".decode("utf-8", "surrogateescape")
    assert told(transduce("translate", "--run", runs["word"], *QUICK, "--", typed, "--", ""))
    assert not told(transduce("translate", "--run", runs["word"] / typed, "x"))
    assert not told(transduce("train", tmp_path / ("x" * 300)))
