"""Settings as an enemy or a slip would write them: refused in a moment, in words that fit on a screen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from transduce.data.corpus import CorpusConfig
from transduce.errors import ConfigError
from transduce.experiment.load import LONGEST, load, parse

LEAST = '[data]\ntrain = [{ tsv = "train.tsv" }]\nvalid = { tsv = "valid.tsv" }\n'


def count(corpora: Sequence[CorpusConfig]) -> int:
    return 7


def refused(folder: Path, text: str, *settings: str) -> str:
    """The message, within a second of computing."""
    (folder / "e.toml").write_bytes(text.encode())
    started = time.process_time()
    with pytest.raises(ConfigError) as caught:
        load(folder / "e.toml", settings, count)
    assert time.process_time() - started < 1
    assert len(str(caught.value)) < 2000
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "9" * 5000, "a number of thousands of digits"),
        ("x = " + "[" * 100_000, "brackets nested"),
        ("x = " + "{a=" * 100_000, "brackets nested"),
        (".".join(["a"] * 100_000) + " = 1", "a key of more than 40 parts"),
        ('"a".' * 100_000 + "a = 1", "a key of more than 40 parts"),
        ("# " + "x" * LONGEST, "more than 1,048,576 characters"),
        ("[training]\nseed = 0x" + "f" * 5000 + "\n" + LEAST, "`seed` = a number of over 80 digits"),
        ("[training]\nseed = 9007199254740993\n" + LEAST, "expected a number of at most 9,007,199,254,740,992"),
        (
            "[training]\nlearning_rate = inf\n" + LEAST,
            "`training.learning_rate` = inf: Input should be a finite number",
        ),
        ("[training]\nmax_minutes = nan\n" + LEAST, "`training.max_minutes` = nan: Input should be a finite number"),
        (
            "[model]\nd_model = 1000001\nheads = 1\n" + LEAST,
            "`d_model` = 1000001: expected a number of at most 1,000,000",
        ),
        ("[decoding]\nbeam = 1001\n" + LEAST, "`decoding.beam` = 1001: Input should be less than or equal to 1000"),
        ("[decoding]\nmax_extra = 10001\n" + LEAST, "`decoding.max_extra` = 10001"),
        ("[decoding]\nlength_penalty = 1e300\n" + LEAST, "`decoding.length_penalty` = 1e+300"),
        ("[compute]\nthreads = 1000000000\n" + LEAST, "`compute.threads` = 1000000000"),
        ('preset = "' + "x" * 100_000 + '"\n' + LEAST, "`preset` = 'xxx"),
        ("x" * 100_000 + " = 1\n" + LEAST, "unknown key `xxx"),
        ("".join(f"x{i} = 1\n" for i in range(5000)) + LEAST, "and 4995 more"),
        ('[data]\ntrain = [{ tsv = "a\\u0000b" }]\nvalid = { tsv = "v" }', "`tsv` = 'a\\x00b': not a path"),
        ('source_language = "' + "x" * 4097 + '"\n' + LEAST, "expected at most 4,096 characters"),
        ('name = "../up"\n' + LEAST, "`name` = '../up': expected the name of a folder: at most 60 characters"),
        ('name = ".."\n' + LEAST, "`name` = '..': expected the name of a folder"),
        ('name = ""\n' + LEAST, "`name` = ''"),
    ],
    ids=lambda value: value[:30],
)
def test_files(tmp_path: Path, text: str, message: str) -> None:
    assert message in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.seed=" + "9" * 5000, "`training.seed` = '9999"),
        ("training.seed=" + "[" * 100_000, "`training.seed` = '[[["),
        ("training.seed." + "a." * 500 + "a=1", "`training.seed` = {'a': {'a'"),
        ("data.valid.tsv=a\0b", "`tsv` = 'a\\x00b': not a path"),
    ],
    ids=["digits", "brackets", "keys", "path"],
)
def test_set(tmp_path: Path, setting: str, message: str) -> None:
    assert message in refused(tmp_path, LEAST, setting)


def test_a_run_to_go_on_from_that_is_none(tmp_path: Path) -> None:
    for name in ("x" * 300, "a\0b", "none"):
        assert "initial" in refused(tmp_path, LEAST, f"initial={name}")
    (tmp_path / "run").mkdir()
    for content in (b"\xff", b"[" * 100_000, b"x = 1"):
        (tmp_path / "run/experiment.toml").write_bytes(content)
        assert f"{tmp_path}/run/experiment.toml: " in refused(tmp_path, LEAST, f"initial={tmp_path}/run")


def test_links_that_lead_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").symlink_to(tmp_path / "valid.tsv")
    (tmp_path / "valid.tsv").symlink_to(tmp_path / "train.tsv")
    (tmp_path / "e.toml").write_text('preset = "tiny"\n' + LEAST, encoding="utf-8")
    # What newer versions of Python follow to no end, older ones refuse to follow.
    try:
        load(tmp_path / "e.toml", [], count)
    except ConfigError as error:
        assert "`tsv` = 'train.tsv': not a path" in str(error)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file" / "e.toml", tmp_path / ("x" * 300)):
        with pytest.raises(ConfigError, match="cannot be read"):
            load(path, [], count)


def test_stored_settings_are_no_safer() -> None:
    for text in ("x = " + "9" * 5000, "x = " + "[" * 100_000):
        with pytest.raises(ConfigError, match="there: not valid TOML"):
            parse(text, "there")
