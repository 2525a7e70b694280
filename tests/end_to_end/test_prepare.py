"""`transduce prepare`: what training would meet, told before it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import InProcess, transduce
from tests.support.copy_run import sentences, write_lines


def corpus(folder: Path, sources: list[str], targets: list[str], *settings: str) -> list[str]:
    """Settings that put these texts in the place of the training text."""
    files = [write_lines(folder / f"corpus.{side}", lines) for side, lines in (("a", sources), ("b", targets))]
    data = f'data.train=[{{ source = "{files[0]}", target = "{files[1]}" }}]'
    return [word for setting in (data, *settings) for word in ("--set", setting)]


def files(folder: Path) -> set[str]:
    return {str(p) for p in folder.rglob("*")}


def test_a_dry_run_reports_and_writes_nothing(experiment: Path, tmp_path: Path) -> None:
    before = files(tmp_path)
    done = transduce("prepare", experiment, "--dry-run", cwd=tmp_path).succeeded()
    for words in (
        "preset `tiny` was asked for",
        "read 211, kept 211, dropped 0",
        "source characters: shortest ",
        "target tokens: shortest 1, median ",
        "tokens unknown (",
        "vocabulary: 84",
        "tokens an update, ",
        "updates per epoch: ",
        "memory to expect in training: about ",
        "dry run: nothing was written",
    ):
        assert words in done.out.decode("utf-8"), words
    assert files(tmp_path) == before


def test_what_was_prepared_is_found_by_training(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    done = cli("prepare", experiment, "--cache", tmp_path / ".cache").succeeded()
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / ".cache").iterdir()}
    store, vocabulary = sorted(made, key=Path.is_file)
    assert done.lines[-1] == f"encoded text: {store}" and vocabulary.name.endswith(".tokenizer.json")
    cli("train", experiment, "--run", tmp_path / "run", "--set", "training.max_updates=1").succeeded()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / ".cache").iterdir()} == made


def test_sides_that_look_swapped_are_told(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    english, chinese = sentences(60, seed=41), ["我 爱 水课", "今天 下雨 了"] * 30
    languages = ("source_language=zh", "target_language=en", "data.filters.duplicates=keep")
    wrong = cli("prepare", experiment, "--dry-run", *corpus(tmp_path, english, chinese, *languages)).succeeded()
    assert "the two sides look swapped: by their scripts, the source is en and the target zh" in wrong.out.decode()
    right = cli("prepare", experiment, "--dry-run", *corpus(tmp_path, chinese, english, *languages)).succeeded()
    assert "look swapped" not in right.out.decode()


def test_case_26_blank_copied_and_doubled_pairs_are_counted(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    """20 pairs: 3 blank, 5 copied, 4 that are there before, 1 of the held-out text; 7 stay."""
    plain = [(f"one {n}", f"uno {n}") for n in range(7)]
    pairs = [
        *plain,
        *plain[:4],
        ("", ""),
        ("red", " "),
        ("\t", "x"),
        *[(f"same {n}",) * 2 for n in range(5)],
        ("held", "out"),
    ]
    (tmp_path / "valid.tsv").write_text("held\tout\n", encoding="utf-8")
    settings = corpus(
        tmp_path,
        [source for source, _ in pairs],
        [target for _, target in pairs],
        f'data.valid={{ tsv = "{tmp_path}/valid.tsv" }}',
        "data.filters={ drop_copies = true, max_length = 60, max_dropped = 0.5 }",
    )
    text = cli("prepare", experiment, "--dry-run", *settings).succeeded().out.decode("utf-8")
    assert "read 20, kept 7, dropped 13 (" in text
    for words in ("duplicate: 4", "copy: 5", "empty source and target: 1", "empty target: 1", "empty source: 1"):
        assert words in text
    assert "also in the held-out text: 1" in text
    assert "4 pairs dropped: duplicate, lines 8, 9, 10, 11" in text
    assert "1 pair dropped: empty target, line 13" in text


def test_case_29_nothing_is_lost_in_silence(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    """100 pairs, 40 of them over a limit of 5 tokens."""
    lines = [f"red blue {n}" if n % 5 < 3 else f"red blue cat dog one {n}" for n in range(100)]
    limit = "data.filters={ max_length = 5, held_out = 'keep' }"
    done = cli("prepare", experiment, "--dry-run", *corpus(tmp_path, lines, lines, limit))
    assert done.code == 2
    assert "read 100, kept 60, dropped 40 (too long: 40)" in done.err
    assert "40 of 100 pairs would be left out (40%), more than `max_dropped` = 0.2 allows" in done.err
    # Told in full in a dry run before it is refused.
    assert "40 pairs dropped: too long, lines 4, 5, 9, 10, 14, …" in done.out.decode("utf-8")
    allowed = "data.filters={ max_length = 5, held_out = 'keep', max_dropped = 0.4 }"
    cli("prepare", experiment, "--dry-run", *corpus(tmp_path, lines, lines, allowed)).succeeded()
    none = "data.filters={ max_length = 1, max_dropped = 1.0 }"
    cli("train", experiment, *corpus(tmp_path, lines, lines, none)).refused(
        "no pair is left to use", "kept 0, dropped 100"
    )


def test_case_22_text_that_is_not_utf8_is_refused_with_its_place(
    cli: InProcess, experiment: Path, tmp_path: Path
) -> None:
    settings = corpus(tmp_path, ["red"], ["red"])
    (tmp_path / "corpus.b").write_bytes(b"caf\xe9\n")
    message = f"{tmp_path / 'corpus.b'}, line 1, column 4: not UTF-8"
    cli("train", experiment, "--run", tmp_path / "run", *settings).refused(message, "iconv -f LATIN1 -t UTF-8")
    done = cli("prepare", experiment, "--dry-run", *settings)
    assert done.code == 2 and message in done.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["bpe", "character", "word"])
def test_case_13_odd_line_separators_shift_nothing(cli: InProcess, experiment: Path, tmp_path: Path, kind: str) -> None:
    texts = ["a\u2028b", "c\x85d", "e\x0b\x0c\x1c\u2029f"]
    settings = corpus(
        tmp_path, texts, ["one", "two", "three"], f"tokenizer.kind={kind}", "tokenizer.minimum_count=1",
        f"tokenizer.vocabulary={400 if kind == 'bpe' else 100}",
    )  # fmt: skip
    text = cli("prepare", experiment, "--dry-run", *settings).succeeded().out.decode("utf-8")
    assert "read 3, kept 3" in text
    assert "U+2028 line separator: 1 pair, line 1" in text
    assert "U+0085 next line: 1 pair, line 2" in text


def test_an_update_of_a_single_pass_is_advised_against(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    text = [" ".join(["red"] * (1 + i % 9)) for i in range(400)]
    settings = corpus(tmp_path, text, text, "data.filters.duplicates=keep", "data.filters.max_length=50",
                      "data.filters.held_out=keep", "training.update_tokens=400")  # fmt: skip
    for batch, advised in ((400, True), (100, False)):
        done = cli("prepare", experiment, "--dry-run", *settings, "--set", f"training.batch_tokens={batch}").succeeded()
        assert (b"advice: an update is a single pass" in done.out) == advised, done.out
