"""`transduce translate`: lines in = lines out, wherever they come from and whatever they hold."""

from __future__ import annotations

import gzip
import json
import subprocess
import threading
from pathlib import Path
from typing import IO

import pytest

from tests.support.command import COMMAND, InProcess, environment, transduce
from tests.support.copy_run import WORDS, load, sentences, write_lines


@pytest.fixture
def given(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "given.txt", sentences(13, seed=21))


def test_texts(copy_run: Path) -> None:
    done = transduce("translate", "--run", copy_run, "red blue", "  one two .  ", "").succeeded()
    assert done.out == b"red blue\n  one two .  \n\n"
    assert done.err == ""


def test_case_133_a_file_standard_input_texts_and_python_agree(cli: InProcess, copy_run: Path, given: Path) -> None:
    lines = given.read_text(encoding="utf-8").split("\n")[:-1]
    expected = [t.text for t in load(copy_run).translate(lines)]
    assert cli("translate", "--run", copy_run, "--file", given).succeeded().lines == expected
    assert cli("translate", "--run", copy_run, stdin=given.read_bytes()).succeeded().lines == expected
    assert cli("translate", "--run", copy_run, *lines).succeeded().lines == expected
    packed = given.with_suffix(".gz")
    packed.write_bytes(gzip.compress(given.read_bytes()))
    assert cli("translate", "--run", copy_run, "--file", packed).succeeded().lines == expected


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_case_1_case_2_blank_lines_stay(cli: InProcess, copy_run: Path, tmp_path: Path, source: str) -> None:
    content = b"red\n\nblue\n"
    (tmp_path / "t").write_bytes(content)
    arguments = ["--file", tmp_path / "t"] if source == "file" else []
    done = cli("translate", "--run", copy_run, *arguments, stdin=content if source == "stdin" else b"")
    assert done.succeeded().out == content


@pytest.mark.parametrize(
    "content",
    [
        b"red\r\nblue\r\n",
        b"red\r\n\r\nblue",
        b"red\nblue\r\none",
        b"red",
        b"\n",
        b"",
        b"\n\n\n",
        b"  red \n\tblue\t\r\n",
    ],
)
def test_line_endings_are_kept(cli: InProcess, copy_run: Path, content: bytes) -> None:
    assert cli("translate", "--run", copy_run, stdin=content).succeeded().out == content


def test_case_8_the_size_of_chunks_changes_no_byte(cli: InProcess, copy_run: Path, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "many.txt", sentences(1003, seed=22, longest=3))
    outputs = {
        size: cli("translate", "--run", copy_run, "--file", path, "--batch", size, "--beam", 2).succeeded().out
        for size in (1, 10, 1000, 5000)
    }
    assert outputs[1].count(b"\n") == 1003
    assert len(set(outputs.values())) == 1
    same = sum(a == b for a, b in zip(outputs[1].split(b"\n"), path.read_bytes().split(b"\n"), strict=True))
    assert same >= 0.99 * 1003


def answer(stream: IO[bytes], seconds: float) -> bytes:
    """The next line of a stream, or nothing after so many seconds."""
    lines: list[bytes] = []
    reader = threading.Thread(target=lambda: lines.append(stream.readline()), daemon=True)
    reader.start()
    reader.join(seconds)
    return lines[0] if lines else b""


def test_each_line_is_answered_before_the_next_is_written(copy_run: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "translate", "--run", str(copy_run)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        for line in (b"red blue\n", b"one\r\n", b"\n", b"two three .\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert answer(process.stdout, 60) == line
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, b"", b"")


def test_a_reader_that_leaves_is_no_fault(copy_run: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "translate", "--run", str(copy_run), "--beam", "1"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    try:
        process.stdin.write(b"red\n")
        process.stdin.flush()
        assert answer(process.stdout, 60) == b"red\n"
        process.stdout.close()
        process.stdin.write(b"blue\n")
        process.stdin.close()
        assert process.wait(60) == 1
        assert process.stderr.read() == b""
    finally:
        process.kill()


def test_output_to_a_file_appears_when_all_is_done(cli: InProcess, copy_run: Path, given: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("before")
    done = cli("translate", "--run", copy_run, "--file", given, "-o", target).succeeded()
    assert done.out == b""
    assert target.read_bytes() == cli("translate", "--run", copy_run, "--file", given).out
    before = target.read_bytes()
    # A fault in the middle leaves what was there.
    cli("translate", "--run", copy_run, "-o", target, stdin=b"red\n" + b"red " * 1001).refused(
        "text 2 has 1,001 tokens"
    )
    assert target.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["given.txt", "out.txt"]
    for wrong in (tmp_path, tmp_path / "none" / "out.txt"):
        cli("translate", "--run", copy_run, "red", "-o", wrong).refused(f"--output {wrong}: cannot be written")


def test_scores_and_nbest(cli: InProcess, copy_run: Path) -> None:
    (expected,) = load(copy_run).translate(["red blue"], nbest=3)
    done = cli("translate", "--run", copy_run, "red blue", "", "--nbest", 3).succeeded()
    assert done.lines == [
        *(f"1\t{rank}\t{a.score:.4f}\t{a.text}" for rank, a in enumerate(expected.alternatives, start=1)),
        "2\t1\t0.0000\t",
    ]
    (line,) = cli("translate", "--run", copy_run, "red blue", "--scores").succeeded().lines
    score, text = line.split("\t")
    assert (text, float(score)) == ("red blue", pytest.approx(expected.score, abs=1e-4))


def test_jsonl(cli: InProcess, copy_run: Path) -> None:
    done = cli(
        "translate", "--run", copy_run, "--jsonl", "--nbest", 2, stdin="red blue\r\n\nx\u2028y".encode()
    ).succeeded()
    rows = [json.loads(line) for line in done.lines]
    assert [row["line"] for row in rows] == [1, 2, 3]
    assert [row["source"] for row in rows] == ["red blue", "", "x\u2028y"]
    assert rows[0]["text"] == rows[0]["alternatives"][0]["text"] == "red blue"
    assert rows[0]["score"] == rows[0]["alternatives"][0]["score"] > rows[0]["alternatives"][1]["score"]
    assert [row["truncated"] for row in rows] == [False] * 3
    assert [(link["source_start"], link["source_end"]) for link in rows[0]["alignment"]] == [(0, 3), (4, 8)]
    assert done.out.count(b"\n") == 3


def test_options_reach_the_search(cli: InProcess, copy_run: Path) -> None:
    def one(*options: object) -> str:
        (line,) = cli("translate", "--run", copy_run, "red blue", *options).succeeded().lines
        return line

    assert one("--beam", 1) == "red blue"
    assert one("--prefix", "cat").startswith("cat")
    assert len(one("--min-length", 7).split(" ")) >= 7
    assert one("--max-extra", 0) in ("red blue", "red")
    assert one("--sample", "--temperature", 5, "--seed", 3) == one("--sample", "--temperature", 5, "--seed", 3)
    assert one("--sample", "--top-k", 1) == one("--sample", "--top-p", 1e-9) == "red blue"
    words = one("--prefix", "red red red", "--no-repeat-ngram", 1).split(" ")
    assert len(words) == len(set(words)) or words[:3] == ["red"] * 3
    assert one("--length-penalty", 2) == "red blue"
    (line,) = cli("translate", "--run", copy_run, "red Zyxel", "--unknown", "copy").succeeded().lines
    assert line == "red Zyxel"


def test_an_ensemble_and_the_choice_of_weights(cli: InProcess, copy_run: Path) -> None:
    for arguments in (["--run", copy_run], *(["--weights", name] for name in ("average", "best", "last"))):
        assert cli("translate", "--run", copy_run, *arguments, "red blue").succeeded().lines == ["red blue"]


def test_case_55_text_of_another_language_is_noticed(cli: InProcess, copy_run: Path) -> None:
    done = cli("translate", "--run", copy_run, "我爱 水课", "red blue").succeeded()
    assert "half of the pieces" not in done.err
    done = cli("translate", "--run", copy_run, "我爱 水课", "red").succeeded()
    assert "from line 1: over half of the pieces are unknown to this run" in done.err
    assert len(done.lines) == 2


def test_bytes_that_are_not_utf8_are_replaced_and_told(cli: InProcess, copy_run: Path) -> None:
    done = cli("translate", "--run", copy_run, "--unknown", "copy", stdin=b"red\ncaf\xe9 red\nblue\n\xff\n").succeeded()
    assert "2 lines were not UTF-8 (first: 2); their bytes became U+FFFD" in done.err
    assert done.lines == ["red", "caf\ufffd red", "blue", "\ufffd"]


def test_a_cut_translation_is_told(cli: InProcess, copy_run: Path) -> None:
    done = cli("translate", "--run", copy_run, "red", "--min-length", 9, "--max-extra", 1)
    assert "1 translations were cut at their greatest length (--max-extra)" in done.succeeded().err


def test_case_98_lines_without_letters_are_kept_unless_asked_for(cli: InProcess, copy_run: Path) -> None:
    lines = b"7\nred 7\n - \n\n...\n"
    done = cli("translate", "--run", copy_run, "--unknown", "copy", stdin=lines).succeeded()
    assert done.out == lines
    done = cli("translate", "--run", copy_run, "--without-letters", "translate", stdin=lines).succeeded()
    assert done.lines[0] != "7" and done.lines[2] != " - " and done.lines[3] == ""
    assert set(done.lines[0].split(" ")) <= set(WORDS), "a word, as the model knows no other"
    wrong = cli("translate", "--run", copy_run, "--without-letters", "drop", "7")
    wrong.refused("`without_letters` = 'drop'", "'keep' or 'translate'")


def test_case_103_repetition_is_told(cli: InProcess, copy_run: Path) -> None:
    forced = ("translate", "--run", copy_run, "blue", "cat", "--prefix", "red dog red dog red dog red dog")
    done = cli(*forced, "--jsonl").succeeded()
    assert "transduce: 2 translations say the same phrase again and again (--no-repeat-ngram 4" in done.err
    assert [json.loads(line)["repetitive"] for line in done.lines] == [True, True]
    done = cli("translate", "--run", copy_run, "red dog", "red dog red dog red dog red dog").succeeded()
    assert "again and again" not in done.err


def test_case_20_any_locale_any_way_gives_the_same_bytes(copy_run: Path, tmp_path: Path) -> None:
    text = "añejo red 北京 ŝ"
    (tmp_path / "t").write_text(text + "\n", encoding="utf-8")
    plain = environment(LC_ALL="C", PYTHONUTF8="0")
    for arguments, stdin in ((["--file", tmp_path / "t"], b""), ([], f"{text}\n".encode()), ([text, "--jsonl"], b"")):
        command = ["translate", "--run", copy_run, "--unknown", "copy", *arguments]
        done = transduce(*command, stdin=stdin, env=plain).succeeded()
        assert text in done.out.decode("utf-8")
        assert "U+FFFD" not in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["red", "--file", "x"], "give texts or --file, not both"),
        (["red", "--batch", 0], "--batch 0: expected at least 1"),
        (["red", "--beam", 0], "`beam` = 0"),
        (["red", "--nbest", 0], "`nbest` = 0"),
        (["red", "--nbest", -3], "`nbest` = -3"),
        (["red", "--nbest", 5, "--beam", 2], "`nbest` = 5 is more than `beam` = 2"),
        (["red", "--top-p", 2, "--sample"], "`top_p` = 2.0"),
        (["red", "--unknown", "drop"], "`unknown` = 'drop'"),
        (["red", "--weights", "newest"], "--weights newest: expected auto, average, best or last"),
        (["red", "--device", "tpu"], "--device tpu: expected auto, cpu, cuda or mps"),
        (["red", "--threads", -1], "--threads -1: expected 0 (all cores) or more"),
        (["--file", "none.txt"], "none.txt: no such file"),
        (["--file", "."], ".: is a folder"),
    ],
)
def test_what_is_wrong_is_told(cli: InProcess, copy_run: Path, arguments: list[object], message: str) -> None:
    cli("translate", "--run", copy_run, *arguments).refused(message)
