"""Lines: one rule for files, pipes and strings."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.errors import DataError
from transduce.text import lines
from transduce.text.lines import (
    BOM,
    Line,
    decode,
    iterate_lines,
    open_binary,
    read_lines,
    repair,
    safe,
    split_text,
    unbroken,
)

ODD = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\n", "\r\n", "\ufeff", "a", "水", " "]


def cut(data: bytes) -> list[Line]:
    return list(iterate_lines(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [(b"", b"\n")]),
        (b"a", [(b"a", b"")]),
        (b"a\n", [(b"a", b"\n")]),
        (b"a\r\n\r\nb", [(b"a", b"\r\n"), (b"", b"\r\n"), (b"b", b"")]),
        (b"a\r\r\n", [(b"a\r", b"\r\n")]),
        (b"a\r", [(b"a\r", b"")]),
        (BOM, []),
        (BOM + b"\n", [(b"", b"\n")]),
        (BOM + BOM + b"a\n", [(BOM + b"a", b"\n")]),
    ],
)
def test_lines_by_hand(data: bytes, expected: list[tuple[bytes, bytes]]) -> None:
    found = cut(data)
    assert [(line.content, line.ending) for line in found] == expected
    assert [line.number for line in found] == list(range(1, len(expected) + 1))


@given(st.lists(st.one_of(st.binary(max_size=5), st.sampled_from([c.encode() for c in ODD]))))
def test_any_bytes_are_rebuilt_exactly(parts: list[bytes]) -> None:
    data = b"".join(parts)
    found = cut(data)
    assert b"".join(line.content + line.ending for line in found) == data.removeprefix(BOM)
    assert all(line.ending in (b"\n", b"\r\n") for line in found[:-1])
    assert not any(b"\n" in line.content for line in found)


@given(st.lists(st.one_of(st.text(max_size=5), st.sampled_from(ODD))))
def test_strings_are_cut_as_files_are(parts: list[str]) -> None:
    text = safe("".join(parts))
    found = split_text(text)
    assert "".join(content + ending for content, ending in found) == text
    if not text.startswith("\ufeff"):
        assert found == [(line.content.decode(), line.ending.decode()) for line in cut(text.encode())]


def test_case_14_unicode_separators_do_not_end_a_line(tmp_path: Path) -> None:
    text = "alpha\u2028beta\ngamma\n"
    path = tmp_path / "text"
    path.write_bytes(text.encode())
    assert list(read_lines(path)) == ["alpha\u2028beta", "gamma"]
    assert split_text(text) == [("alpha\u2028beta", "\n"), ("gamma", "\n")]


def test_case_184_lone_carriage_return_is_text() -> None:
    assert split_text("one\r\ntwo\rthree") == [("one", "\r\n"), ("two\rthree", "")]
    assert [(x.content, x.ending) for x in cut(b"one\r\ntwo\rthree")] == [
        (b"one", b"\r\n"),
        (b"two\rthree", b""),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        (" \n ", " \n "),
        (" red  blue\rgreen ", " red  blue\rgreen "),
        ("\n red .\r\n\n\tblue ?  \n green\n", "\n red . blue ? green\n"),
    ],
)
def test_a_text_as_one_line(text: str, line: str) -> None:
    assert unbroken(text) == line


def test_case_19_leading_bom_is_removed_and_inner_one_kept(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(BOM + "red\nblue\ufeffgreen\n".encode())
    assert list(read_lines(path)) == ["red", "blue\ufeffgreen"]


def test_case_22_wrong_encoding_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "latin"
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    message = str(caught.value)
    assert f"{path}, line 1, column 4: not UTF-8" in message
    assert "iconv -f LATIN1 -t UTF-8" in message
    assert caught.value.exit_code == 2


def test_column_counts_characters_not_bytes() -> None:
    with pytest.raises(DataError) as caught:
        decode("水水".encode() + b"\xff", "file", 7)
    assert (caught.value.line, caught.value.column) == (7, 3)


def test_utf16_is_recognised() -> None:
    with pytest.raises(DataError, match="iconv -f UTF-16"):
        decode("ab".encode("utf-16"), None, 1)


def test_repair_says_whether_it_replaced() -> None:
    assert repair("水".encode()) == ("水", False)
    assert repair(b"caf\xe9!") == ("caf\ufffd!", True)


def test_case_56_lone_surrogates_become_replacement_characters() -> None:
    assert safe("left\udc00right") == "left\ufffdright"
    assert safe("\ud800\udfff") == "\ufffd\ufffd"
    assert safe("😀水") == "😀水"


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".GZ"])
def test_compressed_files_read_like_plain_ones(tmp_path: Path, suffix: str) -> None:
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[suffix.lower()]
    path = tmp_path / f"text{suffix}"
    path.write_bytes(pack(BOM + "水\r\n\nlast".encode()))
    assert list(read_lines(path)) == ["水", "", "last"]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("damage", ["cut", "not an archive", "flipped"])
def test_damaged_archives_are_refused_even_midway(tmp_path: Path, suffix: str, pack, damage: str) -> None:
    packed = bytearray(pack(random.Random(7).randbytes(50_000).hex().encode() + b"\n"))
    path = tmp_path / f"text{suffix}"
    if damage == "flipped":
        packed[len(packed) // 2] ^= 255
    path.write_bytes({"cut": packed[:-20], "not an archive": b"plain text\n", "flipped": packed}[damage])
    with pytest.raises(DataError, match="damaged or incomplete") as caught:
        list(read_lines(path))
    assert str(path) in str(caught.value)


def test_damage_is_blamed_on_the_file_that_has_it(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.gz", tmp_path / "good"
    bad.write_bytes(gzip.compress(b"a\n" * 1000)[:-9])
    good.write_bytes(b"a\n" * 1000)
    with pytest.raises(DataError) as caught, open_binary(bad) as a, open_binary(good) as b:
        list(zip(iterate_lines(a), iterate_lines(b), strict=False))
    assert caught.value.path == bad


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(read_lines(tmp_path / "none"))
    for name in ("folder", "folder.gz"):
        (tmp_path / name).mkdir()
        with pytest.raises(DataError, match="is a folder"):
            list(read_lines(tmp_path / name))
    with pytest.raises(DataError, match="cannot be opened"):
        list(read_lines("nul\0byte"))


def test_a_pipe_gives_each_line_as_it_comes() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream, os.fdopen(writer, "wb", buffering=0) as out:
        found = iterate_lines(stream)
        for word in (b"one", b"two"):
            out.write(word + b"\n")
            # Would wait for ever if the reader asked for more than the line.
            assert next(found).content == word


def test_a_named_pipe_gives_each_line_as_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    # Opened for both, so that neither side waits for the other to open.
    with os.fdopen(os.open(path, os.O_RDWR), "wb", buffering=0) as out, open_binary(path) as stream:
        found = iterate_lines(stream)
        for word in (b"one", b"two"):
            out.write(word + b"\n")
            assert next(found).content == word


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 11)
    assert [line.content for line in cut(b"0123456789\n0123456789\n")] == [b"0123456789"] * 2
    with pytest.raises(DataError, match="no line feed") as caught:
        cut(b"a\n0123456789ab\n")
    assert caught.value.line == 2
