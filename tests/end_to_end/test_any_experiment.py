"""Whatever stands in an experiment, its text or its word vectors: it works, or it is refused in words.

The exit code is 0, or 2 with a message; `cli` lets every exception of ours fail the test.
"""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.support.anything import CONTENT, NUMBERS, TEXT, TYPED, Examples, told
from tests.support.command import InProcess
from tests.support.copy_run import tiny_experiment
from tests.support.fresh_run import TEXT as WORDS
from tests.support.mutants import mutant
from transduce.errors import DataError
from transduce.experiment import Experiment
from transduce.experiment.load import to_toml
from transduce.text.pair import Tokenizers
from transduce.text.tokenizer import TokenizerConfig
from transduce.text.word_vectors import load_word_vectors

TOKENIZERS = ("word", "character", "pieces", "bpe")


WRAPPINGS: dict[str, Callable[[bytes], bytes]] = {"txt": bytes, "gz": gzip.compress, "xz": lzma.compress}
CORPORA = st.sampled_from(["aligned", "tsv", "jsonl"])
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4)
BROKEN = '{"source": "\\ud800", "target": "x"}'
LINES = st.lists(
    st.sampled_from(["red\tblue", "null", "[]", '{"source": 1}', "{", "[" * 2000, "9" * 5000, BROKEN]) | TEXT,
    max_size=4,
).map(lambda rows: "\n".join(rows).encode("utf-8", "replace"))


def write_experiment(folder: Path, kind: str, form: str, suffix: str, sides: Sequence[bytes]) -> Path:
    """An experiment of one update on this text; its settings and its validation text are as they should be."""
    values = tiny_experiment(folder, max_updates=1, batch_tokens=300, update_tokens=300, save_every=1).model_dump()
    fields = ("source", "target") if form == "aligned" else (form,)
    values["data"]["train"] = [{field: folder / f"{field}.{suffix}" for field in fields}]
    for field, side in zip(fields, sides, strict=False):
        (folder / f"{field}.{suffix}").write_bytes(WRAPPINGS[suffix](side))
    values["data"]["filters"] |= {"max_dropped": 1.0}
    values["tokenizer"] = {"kind": kind, "if_too_large": "shrink", "vocabulary": 280 if kind == "bpe" else 99}
    path = folder / "experiment.toml"
    path.write_text(to_toml(Experiment.model_validate(values)), encoding="utf-8")
    return path


def as_files(pairs: Sequence[tuple[str, str]], form: str) -> list[bytes]:
    """Pairs in a form that holds them, with a word in each text, so that something is left after the filters."""
    rows = [tuple(f"red {text}".replace("\n", " ") for text in pair) for pair in pairs]
    if form == "jsonl":
        return ["".join(json.dumps(dict(zip(("source", "target"), row, strict=True))) + "\n" for row in rows).encode()]
    if form == "tsv":
        rows = [("\t".join(text.replace("\t", " ") for text in row),) for row in rows]
    return ["".join(f"{text}\n" for text in side).encode("utf-8", "replace") for side in zip(*rows, strict=True)]


def test_prepare(cli: InProcess, few: Examples, tmp_path: Path) -> None:
    @few(15)
    @given(sides=st.tuples(CONTENT | LINES, CONTENT), form=CORPORA, suffix=st.sampled_from(sorted(WRAPPINGS)))
    def check_bytes(sides: tuple[bytes, bytes], form: str, suffix: str) -> None:
        told(cli("prepare", write_experiment(tmp_path, "word", form, suffix, sides), "--dry-run"))

    @few(10)
    @given(pairs=PAIRS, form=CORPORA, kind=st.sampled_from(TOKENIZERS))
    def check_texts(pairs: list[tuple[str, str]], form: str, kind: str) -> None:
        path = write_experiment(tmp_path, kind, form, "txt", as_files(pairs, form))
        done = cli("prepare", path, "--dry-run")
        if told(done):
            assert f"read {len(pairs)}, kept" in done.out.decode("utf-8")

    check_bytes()
    check_texts()


def test_train(cli: InProcess, few: Examples, tmp_path: Path) -> None:
    @few(4)
    @given(pairs=PAIRS, form=CORPORA, kind=st.sampled_from(TOKENIZERS))
    def check(pairs: list[tuple[str, str]], form: str, kind: str) -> None:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        path = write_experiment(tmp_path, kind, form, "txt", as_files(pairs, form))
        if told(cli("train", path, "--run", tmp_path / "run")):
            assert (tmp_path / "run/results.json").is_file()
            assert told(cli("train", "--resume", tmp_path / "run"))
        else:
            assert not (tmp_path / "run").exists()

    check()


def test_experiment_files(cli: InProcess, few: Examples, experiment: Path) -> None:
    whole = experiment.read_bytes()

    @few(40)
    @given(content=CONTENT | st.integers(0, 10**6).map(lambda seed: mutant(whole, "toml", str(seed))))
    def check(content: bytes) -> None:
        experiment.write_bytes(content)
        told(cli("prepare", experiment, "--dry-run"))

    check()


def leaves(table: dict[str, Any], above: str = "") -> list[str]:
    """Every setting, as --set spells it, and the tables that hold them."""
    found = []
    for key, value in table.items():
        found.append(above + key)
        if isinstance(value, dict):
            found += leaves(value, f"{above}{key}.")
    return found


VALUES = NUMBERS | st.sampled_from(
    [
        *("{}", "{a=1}", "[1, 2]", '"x"', '"\\u0000"', '"a/b"', "..", "none", "all", "1979-05-27", "[" * 2000),
        *("0x" + "f" * 5000, "2147483648", "9007199254740992", "9223372036854775808", "1" + "0" * 30),
        *("x" * 300, "a$\\frac$", "水\x1b[31m"),
    ]
)


def test_set_on_the_command_line(cli: InProcess, few: Examples, experiment: Path, tmp_path: Path) -> None:
    keys = leaves(tiny_experiment(tmp_path).model_dump(mode="json"))

    @few(60)
    @given(key=st.sampled_from(keys), value=VALUES, free=st.none() | TYPED)
    def check(key: str, value: str, free: str | None) -> None:
        more = [] if free is None else ["--set", free]
        told(cli("prepare", experiment, "--dry-run", "--set", f"{key}={value}", *more))

    check()


def test_set_in_training(cli: InProcess, few: Examples, experiment: Path, tmp_path: Path) -> None:
    """One update with it. Sizes are so small that they cost nothing, or so large that they are refused."""
    known = tiny_experiment(tmp_path).model_dump(mode="json")
    keys = [
        k for k in leaves(known) if k.partition(".")[0] in ("name", "training", "validation", "decoding", "scoring")
    ]
    sizes = [k for k in leaves(known) if k.partition(".")[0] in ("model", "tokenizer", "compute")]
    odd = [
        "-1",
        "0",
        "1",
        "2",
        "3",
        "0.5",
        "1e-300",
        "2147483648",
        "9007199254740992",
        "nan",
        "true",
        "x",
        "a$\\frac$",
    ]

    @few(10)
    @given(key=st.sampled_from(keys + sizes), value=st.sampled_from(odd))
    def check(key: str, value: str) -> None:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        told(cli("train", experiment, "--run", tmp_path / "run", "--set", f"{key}={value}",
                 "--set", "training.max_updates=1", "--set", "training.learning_rate=0.001"))  # fmt: skip

    check()


NUMBER = st.sampled_from(
    ["1", "-0.5", "1e-3", "nan", "inf", "1e999", "1e39", "x", "", "٣", "9" * 5000]
) | st.floats().map(str)
VECTORS = st.lists(
    st.tuples(TEXT | st.sampled_from(["red", "blue", "水", "x", "5"]), st.lists(NUMBER, min_size=2, max_size=4)).map(
        lambda row: " ".join([row[0], *row[1]])
    ),
    max_size=5,
).map(lambda rows: "".join(f"{row}\n" for row in rows).encode("utf-8", "replace"))


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_word_vectors(few: Examples, tmp_path: Path, kind: Any) -> None:
    config = TokenizerConfig(kind=kind, vocabulary=300, if_too_large="shrink")
    tokenizer = Tokenizers.train(config, lambda: [(line, line) for line in WORDS]).source

    @few(60)
    @given(content=CONTENT | VECTORS)
    def check(content: bytes) -> None:
        (tmp_path / "vectors").write_bytes(content)
        weight = torch.zeros(tokenizer.size, 3)
        try:
            count = load_word_vectors(tmp_path / "vectors", tokenizer, weight, 2.0)
        except DataError as error:
            assert str(tmp_path / "vectors") in str(error)
        else:
            assert count >= 1
            assert weight.isfinite().all()

    check()
