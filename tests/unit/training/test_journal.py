"""The journal: appended to, cut back on resume, readable after any kill; and the picture drawn from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from transduce.errors import RunError
from transduce.training.curve import draw_curve
from transduce.training.journal import Journal, read_journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


def test_a_line_per_event(journal: Journal) -> None:
    journal.write("update", update=1, loss=0.5)
    journal.write("validation", update=1, text="水 \u2028 \n")
    assert read_journal(journal.path) == [
        {"event": "update", "update": 1, "loss": 0.5},
        {"event": "validation", "update": 1, "text": "水 \u2028 \n"},
    ]
    assert journal.path.read_bytes().count(b"\n") == 2
    assert journal.synced() == len(journal.path.read_bytes())


def test_what_is_not_there_is_empty(journal: Journal) -> None:
    assert journal.synced() == 0
    assert read_journal(journal.path) == []
    journal.cut(0)
    assert not journal.path.exists()


def test_a_cut_takes_back_what_came_after_it(journal: Journal) -> None:
    journal.write("update", update=1)
    size = journal.synced()
    journal.write("update", update=2)
    journal.cut(size)
    journal.cut(size)
    journal.write("update", update=3)
    assert [e["update"] for e in read_journal(journal.path)] == [1, 3]


@pytest.mark.parametrize("lost", range(1, 31))
def test_half_a_line_spoils_no_other(journal: Journal, lost: int) -> None:
    """A kill, or a power cut that lost what was written since the checkpoint and a little before it."""
    journal.write("update", update=1)
    journal.write("update", update=2)
    size = journal.synced()
    journal.path.write_bytes(journal.path.read_bytes()[:-lost])
    assert [e["update"] for e in read_journal(journal.path)] == [1]
    journal.cut(size)
    journal.write("update", update=3)
    assert [e["update"] for e in read_journal(journal.path)] == [1, 3]


@pytest.mark.parametrize("bleu", [None, 31.0])
@pytest.mark.parametrize("updates", [0, 1, 7])
def test_the_curve_is_a_picture(journal: Journal, tmp_path: Path, updates: int, bleu: float | None) -> None:
    for n in range(updates):
        journal.write("update", update=n, loss=7.0 - n)
        journal.write("validation", update=n, loss=7.5 - n, bleu=bleu, chrf=bleu)
    draw_curve(journal.path, tmp_path / "curve.png", "añejo")
    content = (tmp_path / "curve.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n") and len(content) > 1000


BAD_LINES = [
    b"{", b"null", b"[]", b"{}", b'"x"', b"\xff", b"[" * 100_000, b"9" * 5000, b'{"event": 1, "update": 1}',
    b'{"event": "update", "update": "1"}', b'{"event": "update", "update": 1e300}',
    b'{"event": "update", "update": true}',
    b'{"event": "update", "update": 1, "loss": NaN}', b'{"event": "update", "update": 1, "loss": []}',
    b'{"event": "validation", "update": 1, "loss": 1, "bleu": "x"}',
]  # fmt: skip


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: line[:40].decode("latin1"))
def test_a_line_that_training_does_not_write_is_named_before_training_goes_on(journal: Journal, line: bytes) -> None:
    journal.write("update", update=1, loss=2.0)
    journal.path.write_bytes(journal.path.read_bytes() + line + b"\n")
    for read in (lambda: journal.cut(10**6), lambda: read_journal(journal.path)):
        with pytest.raises(RunError, match=r"journal\.jsonl, line 2: no line that training writes"):
            read()


def test_what_cannot_be_drawn_is_left_out(journal: Journal, tmp_path: Path) -> None:
    journal.write("update", update=1)
    journal.write("update", update=2, loss=1.0)
    journal.write("validation", update=2, loss=2**53)
    journal.write("validation", update=2, loss=1.0, bleu=31.0)
    draw_curve(journal.path, tmp_path / "curve.png", "x")
    assert (tmp_path / "curve.png").stat().st_size > 1000


@pytest.mark.parametrize("title", ["a$\\frac$", "我爱水课 \U0001f44d", "\x1b[31m\t\u2028", "x" * 60])
def test_any_name_is_a_title(journal: Journal, tmp_path: Path, title: str) -> None:
    """No formula, and no warning (here an error) of letters that the font lacks."""
    journal.write("update", update=1, loss=1.0)
    draw_curve(journal.path, tmp_path / "curve.png", title)
    assert (tmp_path / "curve.png").stat().st_size > 1000
