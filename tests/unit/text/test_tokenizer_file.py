"""The tokenizer file: what is written comes back, anything else is refused quickly and in words."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from transduce.errors import RunError
from transduce.text import tokenizer_file
from transduce.text.pair import Tokenizers
from transduce.text.specials import NAMES, RESERVED
from transduce.text.tokenizer import TokenizerConfig

PAIRS = [("我爱水课", "I love easy courses"), ("我爱喝水", "I love water")] * 3


def trained(**settings: Any) -> Tokenizers:
    return Tokenizers.train(TokenizerConfig(if_too_large="shrink", **settings), lambda: PAIRS)


def stored(tmp_path: Path, **settings: Any) -> dict[str, Any]:
    trained(**settings).save(tmp_path / "good.json")
    return json.loads((tmp_path / "good.json").read_bytes())


def refusal(path: Path, content: object) -> str:
    """The message with which a file of this content is refused, within a second."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(data)
    start = time.perf_counter()
    with pytest.raises(RunError) as caught:
        Tokenizers.load(path)
    assert time.perf_counter() - start < 1
    message = str(caught.value)
    assert str(path) in message and len(message) < 1000
    return message


SETTINGS = [
    {},
    {"joint": False},
    {"split_han": True},
    {"nfkc": True},
    {"kind": "word"},
    {"kind": "character", "joint": False},
    {"kind": "pieces"},
    {"kind": "sentences"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_save_and_load_give_the_same_tokenizer_and_bytes(tmp_path: Path, settings: dict[str, Any]) -> None:
    first = trained(**settings)
    first.save(tmp_path / "a.json")
    second = Tokenizers.load(tmp_path / "a.json")
    second.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert second.config == first.config
    assert second.fingerprint == first.fingerprint
    for text in ("我爱水课 ﬁ", "I love new courses"):
        assert second.source.encode(text) == first.source.encode(text)
        assert second.target.encode(text) == first.target.encode(text)
    assert second.source.export() == first.source.export()
    assert (second.source is second.target) == first.joint


def test_case_59_giant_pieces_are_refused(tmp_path: Path) -> None:
    giant = "a" * 200_000
    path = tmp_path / "bad.json"
    document = stored(tmp_path)
    document["vocabularies"]["joint"] = [f"{giant} b"]
    assert "200,002 characters" in refusal(path, document)
    # Each entry is short, but eighteen doublings make one piece of 262,144 letters.
    document["vocabularies"]["joint"] = [f"{'a' * 2**i} {'a' * 2**i}" for i in range(18)]
    assert "characters" in refusal(path, document)
    words = stored(tmp_path, kind="word")
    words["vocabularies"]["joint"].append(giant)
    assert "200,000 characters" in refusal(path, words)
    words["vocabularies"]["joint"][-1] = "a" * 1001
    assert "1,001 characters" in refusal(path, words)
    assert trained().source.encode("still alive")


def test_case_61_pieces_that_we_never_write_are_refused_with_the_version(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    words = stored(tmp_path, kind="word")
    for piece in ("a\0b", "\r", "x\n", "\ufeff"):
        words["vocabularies"]["joint"][0] = piece
        message = refusal(path, words)
        assert "NUL, CR, LF and U+FEFF are in no piece" in message
        assert "format version 1" in message
    document = stored(tmp_path)
    document["vocabularies"]["joint"] = ["a Ā"]
    assert "`a<U+0000>`" in refusal(path, document)


def test_case_61_other_versions_and_formats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    document = stored(tmp_path)
    for version in (2, 0, "1", 1.0, True, None):
        assert "`version`" in refusal(path, {**document, "version": version})
        assert "format version 1" in refusal(path, {**document, "version": version})
    assert "`format`" in refusal(path, {**document, "format": "other"})
    assert "`format`" in refusal(path, {"model": {"type": "BPE"}})
    assert "keys" in refusal(path, {**document, "extra": 1})


def test_case_61_every_truncation_is_refused(tmp_path: Path) -> None:
    stored(tmp_path)
    data = (tmp_path / "good.json").read_bytes().rstrip()
    for end in range(0, len(data), 31):
        message = refusal(tmp_path / "bad.json", data[:end])
        assert "cut off" in message or "not UTF-8" in message


def test_case_41_a_vocabulary_that_lists_specials_keeps_one_id_for_each(tmp_path: Path) -> None:
    document = stored(tmp_path, kind="word")
    typed = ["<s>", "<pad>", "</s>", "<unk>"]
    document["vocabularies"]["joint"][:0] = typed
    (tmp_path / "typed.json").write_text(json.dumps(document), encoding="utf-8")
    tokenizers = Tokenizers.load(tmp_path / "typed.json")
    assert tokenizers.source.encode("<s> <pad> </s> <unk>") == [RESERVED + i for i in range(4)]
    assert [tokenizers.source.piece_name(i) for i in range(RESERVED)] == list(NAMES)
    assert tokenizers.source.decode([RESERVED, 1, 0, 2, RESERVED + 2]) == "<s> </s>"
    tokenizers.save(tmp_path / "once.json")
    Tokenizers.load(tmp_path / "once.json").save(tmp_path / "twice.json")
    assert (tmp_path / "once.json").read_bytes() == (tmp_path / "twice.json").read_bytes()


@pytest.mark.parametrize(
    ("kind", "items", "expected"),
    [
        ("bpe", ["a b", "a b"], "twice"),
        ("bpe", ["ab c"], "does not join two earlier pieces"),
        ("bpe", ["a"], "does not join two earlier pieces"),
        ("bpe", ["a b c"], "does not join two earlier pieces"),
        ("bpe", ["a 水"], "does not join two earlier pieces"),
        ("bpe", [["a", "b"]], "not a list of strings"),
        ("bpe", {"a": 1}, "not a list of strings"),
        ("bpe", None, "not a list of strings"),
        ("word", ["a", "a"], "twice"),
        ("word", ["a", 7], "not a list of strings"),
        ("word", [""], "no word piece"),
        ("sentences", ["a", "."], "first piece of the vocabulary joint is not the full stop"),
        ("word", ["\ud800"], "no word piece"),
        ("character", ["ab"], "no character piece"),
    ],
)
def test_vocabularies_that_do_not_hold_are_refused(tmp_path: Path, kind: str, items: object, expected: str) -> None:
    document = stored(tmp_path, kind=kind)
    document["vocabularies"]["joint"] = items
    assert expected in refusal(tmp_path / "bad.json", document)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"\x80\x02}q\x00.",
        b'{"format": "transduce tokenizer", "format": 1}',
        b"[" * 1_000_000,
        b'{"a":' * 1_000_000,
        b"9" * 1_000_000,
        b'{"format": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"format": "transduce tokenizer", "version": ' + b"[" * 900 + b"]" * 900 + b"}",
    ],
    ids=range(10),
)
def test_other_content_is_refused(tmp_path: Path, data: bytes) -> None:
    refusal(tmp_path / "bad.json", data)


def test_configs_that_do_not_hold_are_refused(tmp_path: Path) -> None:
    document = stored(tmp_path)
    path = tmp_path / "bad.json"
    config = document["config"]
    assert "kind" in refusal(path, {**document, "config": {**config, "kind": "x" * 100_000}})
    assert "split_hna" in refusal(path, {**document, "config": {**config, "split_hna": True}})
    assert "source and target" in refusal(path, {**document, "config": {**config, "joint": False}})
    refusal(path, {**document, "config": None})
    refusal(path, {**document, "vocabularies": []})
    small = {**config, "vocabulary": RESERVED + 257}
    assert "its config allows 278" in refusal(path, {**document, "config": small})


def test_too_large_and_missing_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path)
    with pytest.raises(RunError, match="cannot read the tokenizer"):
        Tokenizers.load(tmp_path / "none.json")
    with pytest.raises(RunError, match="cannot read the tokenizer"):
        Tokenizers.load(tmp_path)
    monkeypatch.setattr(tokenizer_file, "LARGEST_FILE", 100)
    with pytest.raises(RunError, match="larger than 100 bytes"):
        Tokenizers.load(tmp_path / "good.json")


def test_too_many_pieces_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = stored(tmp_path, kind="word")
    monkeypatch.setattr(tokenizer_file, "MOST_PIECES", 3)
    assert "at most 3" in refusal(tmp_path / "bad.json", document)
