"""`transduce score` and `transduce evaluate`."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import sacrebleu

from tests.support.command import InProcess, transduce
from tests.support.copy_run import load, sentences, write_lines


@pytest.fixture
def given(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "given.txt", [*sentences(29, seed=31), "red Zyxel"])


def test_log_probabilities_add_up(cli: InProcess, copy_run: Path, given: Path) -> None:
    plain = cli("score", "--run", copy_run, given, given).succeeded()
    rows = [json.loads(line) for line in cli("score", "--run", copy_run, given, given, "--jsonl").succeeded().lines]
    assert [row["line"] for row in rows] == list(range(1, 31))
    for line, row in zip(plain.lines, rows, strict=True):
        total, tokens = line.split("\t")
        values = [float(token.rsplit(":", 1)[1]) for token in tokens.split(" ")]
        assert float(total) == pytest.approx(sum(values), abs=1e-3)
        assert row["log_probability"] == pytest.approx(sum(value for _, value in row["tokens"]))
        assert [piece for piece, _ in row["tokens"]] == [token.rsplit(":", 1)[0] for token in tokens.split(" ")]
        assert row["tokens"][-1][0] == "</s>"
    assert [piece for piece, _ in rows[-1]["tokens"]] == ["red", "<unk>", "</s>"]
    found = re.search(
        r"transduce: 30 pairs, (\d+) tokens, log-probability (-[\d.]+) in all, (-[\d.]+) a token", plain.err
    )
    assert found
    count, total, mean = int(found[1]), float(found[2]), float(found[3])
    assert count == sum(len(row["tokens"]) for row in rows)
    assert total == pytest.approx(sum(row["log_probability"] for row in rows), abs=1e-3)
    assert mean == pytest.approx(total / count, abs=1e-3)


def test_a_translation_has_the_log_probability_that_it_was_found_with(
    cli: InProcess, copy_run: Path, given: Path, tmp_path: Path
) -> None:
    found = cli("translate", "--run", copy_run, "--file", given, "--jsonl").succeeded().lines
    translations = [json.loads(line) for line in found]
    output = write_lines(tmp_path / "output.txt", [t["text"] for t in translations])
    rows = [json.loads(line) for line in cli("score", "--run", copy_run, given, output, "--jsonl").succeeded().lines]
    for translation, row in zip(translations, rows, strict=True):
        assert row["log_probability"] == pytest.approx(translation["alternatives"][0]["log_probability"], abs=1e-4)


def test_case_137_evaluation_equals_sacrebleu_on_the_same_output(
    cli: InProcess, copy_run: Path, given: Path, tmp_path: Path
) -> None:
    """The references differ here and there, so that the scores are none that a fault would give as well."""
    texts = given.read_text(encoding="utf-8").split("\n")[:-1]
    first = write_lines(tmp_path / "first.txt", [t.replace("red", "Blue") + " or so" for t in texts])
    second = write_lines(tmp_path / "second.txt", [f"well , {t}" for t in texts])
    output = tmp_path / "output.txt"
    plain = cli("evaluate", "--run", copy_run, "--test", given, first, second, "-o", output).succeeded()
    outputs = output.read_text(encoding="utf-8").split("\n")[:-1]
    assert outputs == cli("translate", "--run", copy_run, "--file", given).lines
    references = [p.read_text(encoding="utf-8").split("\n")[:-1] for p in (first, second)]
    expected = [
        sacrebleu.corpus_bleu(outputs, references),
        sacrebleu.corpus_chrf(outputs, references),
        sacrebleu.corpus_ter(outputs, references),
    ]
    assert 0 < expected[0].score < 100
    for line, score in zip(plain.lines, expected, strict=False):
        assert line.startswith(f"{score.name} {score.score:.2f}  (nrefs:2|case:")
        assert f"|version:{sacrebleu.__version__})" in line
    assert plain.lines[-1] == "30 lines, beam 4, length penalty 0.6 (gnmt)"
    row = json.loads(cli("evaluate", "--run", copy_run, "--test", given, first, second, "--jsonl").succeeded().out)
    assert [s["value"] for s in row["scores"]][:3] == [score.score for score in expected]
    assert row["decoding"]["beam"] == 4


@pytest.mark.parametrize("worse", [True, False])
def test_another_systems_output_is_compared_with(
    cli: InProcess, copy_run: Path, given: Path, tmp_path: Path, worse: bool
) -> None:
    """Baselines that are surely worse and surely better: the sign, the chance, and whose figure stands where."""
    texts = [" ".join([*text.split(" "), "or", "so"]) for text in given.read_text(encoding="utf-8").split("\n")[:-1]]
    reference = write_lines(tmp_path / "reference.txt", texts)
    other = write_lines(tmp_path / "other.txt", ["nothing of it"] * len(texts) if worse else texts)
    call = ("evaluate", "--run", copy_run, "--test", given, reference, "--against", other)
    row = json.loads(cli(*call, "--jsonl").succeeded().out)
    own = {score["name"]: score["value"] for score in row["scores"]}
    assert row["against"] == str(other)
    assert [c["name"] for c in row["comparisons"]] == ["BLEU", "chrF2", "TER"]
    for found in row["comparisons"]:
        assert found["system"] == pytest.approx(own[found["name"]])
        assert found["p_value"] < 0.01
    bleu = row["comparisons"][0]
    assert 0 < bleu["system"] < 100 and bleu["baseline"] == pytest.approx(0 if worse else 100, abs=1)
    lines = [line for line in cli(*call).succeeded().lines if "against" in line]
    assert [line.split(" ")[0] for line in lines] == ["BLEU", "chrF2", "TER"]
    difference = bleu["system"] - bleu["baseline"]
    start = f"BLEU {bleu['system']:.2f} against {bleu['baseline']:.2f}: {difference:+.2f}, p = 0.00"
    assert lines[0].startswith(start) and "significant at 0.05  (" in lines[0] and "|bs:1000|" in lines[0]


def test_what_is_asked_of_scoring_stands_beside_what_the_run_says(
    cli: InProcess, copy_run: Path, given: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(copy_run, run)
    text = (run / "experiment.toml").read_text(encoding="utf-8")
    assert "[scoring]\nlowercase = false\ntokenized = false\n" in text
    text = text.replace("lowercase = false\ntokenized = false", "lowercase = false\ntokenized = true")
    (run / "experiment.toml").write_text(text, encoding="utf-8")
    capitals = write_lines(tmp_path / "c.txt", [t.upper() for t in given.read_text(encoding="utf-8").split("\n")[:-1]])
    found = {}
    for options in ((), ("--lowercase",), ("--tokenized",), ("--lowercase", "--tokenized")):
        for folder in (copy_run, run):
            line = cli("evaluate", "--run", folder, "--test", given, capitals, *options).succeeded().lines[0]
            found[folder.name, options] = line
    case = {options: "case:lc" if "--lowercase" in options else "case:mixed" for _, options in found}
    for (name, options), line in found.items():
        tokens = "tok:none" if name == "run" or "--tokenized" in options else "tok:13a"
        assert f"|{case[options]}|" in line and f"|{tokens}|" in line, (name, options, line)
    bleu = {options: float(line.split(" ")[1]) for (name, options), line in found.items() if name == "run"}
    assert bleu["--lowercase",] > bleu[()] + 10


def test_options_of_the_search(cli: InProcess, copy_run: Path, given: Path) -> None:
    done = cli("evaluate", "--run", copy_run, "--test", given, given, "--beam", 1, "--length-penalty", 0).succeeded()
    assert done.lines[-1] == "30 lines, beam 1, length penalty 0.0 (gnmt)"
    assert float(done.lines[0].split(" ")[1]) > 90


def test_case_139_an_empty_reference_is_scored(cli: InProcess, copy_run: Path, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "s", ["red blue", "cat", "dog"])
    reference = write_lines(tmp_path / "r", ["red blue", "", "dog"])
    done = cli("evaluate", "--run", copy_run, "--test", source, reference).succeeded()
    assert done.lines[-1].startswith("3 lines, ")
    assert f"transduce: {reference}: 1 empty lines (first: 2) are scored as references that say nothing" in done.err


def test_case_136_text_that_looks_tokenised_is_told_whoever_made_it(
    cli: InProcess, copy_run: Path, given: Path, tmp_path: Path
) -> None:
    """References, each of them, the output, and what is compared with; the scores are printed with their signature."""
    texts = given.read_text(encoding="utf-8").split("\n")[:-1]
    raw = write_lines(tmp_path / "raw.txt", [f"{text}." for text in texts])
    apart = write_lines(tmp_path / "apart.txt", [f"{text} ." for text in texts])
    pieces = write_lines(tmp_path / "pieces.txt", [f"{text[:2]}@@ {text[2:]}." for text in texts])
    evaluate = ("evaluate", "--run", copy_run, "--test", given)
    assert "looks tokenised" not in cli(*evaluate, raw).succeeded().err
    for arguments, name in (
        ([apart], apart), ([pieces], pieces), ([raw, pieces], pieces), ([raw, "--against", apart], apart),
    ):  # fmt: skip
        done = cli(*evaluate, *arguments).succeeded()
        assert f"transduce: {name} looks tokenised: BLEU of such text is not comparable" in done.err
        assert f"|tok:13a|smooth:exp|version:{sacrebleu.__version__})" in done.lines[0]
        cli(*evaluate, *arguments, "--strict").refused(f"{name} looks tokenised", "--tokenized")
    done = cli(*evaluate, apart, "--tokenized", "--strict").succeeded()
    assert "looks tokenised" not in done.err and "|tok:none|" in done.lines[0]
    stops = write_lines(tmp_path / "stops.txt", ["red blue .", "cat ."] * 10)
    whole = write_lines(tmp_path / "whole.txt", ["red blue.", "cat."] * 10)
    output = tmp_path / "out.txt"
    done = cli("evaluate", "--run", copy_run, "--test", stops, whole, "-o", output).succeeded()
    assert "transduce: the output looks tokenised" in done.err
    cli("evaluate", "--run", copy_run, "--test", stops, whole, "-o", output, "--strict").refused("the output looks")
    assert output.read_text(encoding="utf-8") == stops.read_text(encoding="utf-8"), "what was translated is not lost"


def test_case_146_scores_come_in_the_order_of_the_input_on_any_number_of_threads(
    cli: InProcess, copy_run: Path, tmp_path: Path
) -> None:
    sources, targets = (sentences(150, seed=seed, longest=12) for seed in (146, 147))
    files = [write_lines(tmp_path / name, lines) for name, lines in (("s", sources), ("t", targets))]
    expected = [s.log_probability for s in load(copy_run).score(sources, targets)]
    for threads in (1, 2):
        done = cli("score", "--run", copy_run, *files, "--jsonl", "--threads", threads).succeeded()
        rows = [json.loads(line) for line in done.lines]
        assert [row["line"] for row in rows] == list(range(1, 151))
        assert [row["log_probability"] for row in rows] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("kind", ["file", "run", "nothing"])
def test_case_148_each_row_holds_its_own_texts(cli: InProcess, copy_run: Path, tmp_path: Path, kind: str) -> None:
    source = write_lines(tmp_path / "s", ["red blue", "cat", "", "dog on the hill"])
    first, second = (write_lines(tmp_path / n, [f"{n} {i}" for i in range(4)]) for n in ("first", "second"))
    other = write_lines(tmp_path / "other", ["a", "b", "c", "d"])
    rows = tmp_path / "rows.jsonl"
    against = {"file": ["--against", other], "run": ["--against", copy_run], "nothing": []}[kind]
    cli("evaluate", "--run", copy_run, "--test", source, first, second, "--rows", rows, *against).succeeded()
    read = lambda path: path.read_text(encoding="utf-8").split("\n")[:-1]  # noqa: E731
    found = [json.loads(line) for line in read(rows)]
    baseline = {"file": read(other), "run": read(source), "nothing": [None] * 4}[kind]
    assert [(r["line"], r["source"], tuple(r["references"]), r["output"], r.get("against")) for r in found] == [
        (i + 1, text, (f"first {i}", f"second {i}"), text, baseline[i]) for i, text in enumerate(read(source))
    ]
    cli("evaluate", "--run", copy_run, "--test", source, first, "--rows", tmp_path).refused("--rows")


def test_case_11_case_143_what_does_not_fit_is_refused(
    cli: InProcess, copy_run: Path, given: Path, tmp_path: Path
) -> None:
    short = write_lines(tmp_path / "short.txt", ["red"])
    empty = write_lines(tmp_path / "empty.txt", [])
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"caf\xe9\n")
    run = ["--run", copy_run]
    cli("score", *run, given, short).refused(str(given), str(short), "30 vs 1")
    cli("score", *run, given, tmp_path / "none").refused(f"{tmp_path / 'none'}: no such file")
    cli("score", *run, empty, empty).refused(f"{empty}: the file is empty")
    cli("score", *run, latin, short).refused(f"{latin}, line 1, column 4: not UTF-8", "iconv")
    cli("score", *run, *run, short, short).refused("score takes one run, not an ensemble")
    cli("evaluate", *run, "--test", given, given, short).refused(str(given), str(short), "30 vs 1")
    cli("evaluate", *run, "--test", empty, empty).refused(f"{empty}: the test has no lines")
    cli("evaluate", *run, "--test", tmp_path / "none", given).refused("no such file")
    cli("evaluate", *run, "--test", latin, short).refused(f"{latin}, line 1, column 4: not UTF-8")
    cli("evaluate", *run, "--test", short, short, "-o", tmp_path / "no" / "o").refused(
        "expected a file in a folder that"
    )
    cli("evaluate", *run, "--test", short, short, "--beam", 0).refused("`beam` = 0")


def test_as_a_process(copy_run: Path, given: Path) -> None:
    assert len(transduce("score", "--run", copy_run, given, given).succeeded().lines) == 30
    assert transduce("evaluate", "--run", copy_run, "--test", given, given).succeeded().lines[0].startswith("BLEU ")
