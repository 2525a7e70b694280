"""The report holds every figure, and texts come out as they are."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from tests.unit.comparison.figures import measured
from transduce.comparison.demonstrations.demonstration import Demonstration, Lines, Map
from transduce.comparison.document import Detail, Points, Section, Table, to_html, to_markdown, to_terminal
from transduce.comparison.measures.forgetting import Kept
from transduce.comparison.measures.layers import LayerCost
from transduce.comparison.measures.parallel import Parallel
from transduce.comparison.measures.scores import time_to
from transduce.comparison.measures.showcase import Shown
from transduce.comparison.report import Comparison, build, write_report

ONE, RISING = [1, 1, 1, 1], [5, 9, 17, 33]
LAYERS = [
    LayerCost("self-attention", 2.0, 1.0, 1.4, 1.7, [1, 4, 16, 64], ONE, "constant", ONE, [1.0] * 4, "constant"),
    LayerCost("recurrent", 1.0, 2.0, 1.0, 2.0, [2, 4, 8, 16], RISING, "linear", ONE, [2.0, 4.0, 8.0, 16.0], "linear"),
]


FIGURES = Table(["d_k", "gradient"], [["4", "0.2"]])
DEMONSTRATED = [
    Demonstration("Scaling", "2.5.6", "It saturates.", "less is left", "13 % is left.", True, FIGURES,
                  [Lines("gradient", "d_k", "", [("scaled", [4, 16], [0.2, 0.1])], log=True)]),
    Demonstration("The map", "1.2", "They come together.", "it is the first of ten", "Place 3 of the ten.", False,
                  FIGURES, [Map("after", [("water", "水", 0.1, 0.2), ("campus", "论文", 0.3, 0.1)])]),
]  # fmt: skip


def comparison() -> Comparison:
    rnn = replace(measured("RNN", "RNN"), outputs=["I love <water> | courses"])
    shown = [Shown("我爱水课", "I love easy courses", "水课")]
    return Comparison(["Seed 1."], [rnn, measured("Transformer")], LAYERS, shown, DEMONSTRATED)


def test_the_files_and_what_they_say(tmp_path: Path) -> None:
    write_report(comparison(), tmp_path)
    html, markdown = ((tmp_path / f"report.{form}").read_text(encoding="utf-8") for form in ("html", "md"))
    for text in (html, markdown):
        assert "attention = additive" in text and "1 + 1" in text and "0.004" in text
        assert "Expected, then measured" in text and "我爱水课" in text
        assert "RNN, parallel in training: ✗ was expected and ✓ was measured" in text
        assert "Transformer, " not in text
    assert "I love &lt;water&gt; | courses" in html and "I love \\<water\\> \\| courses" in markdown
    assert html.count("<svg") == 6
    # One file: nothing is fetched. The names of XML are no addresses.
    assert not re.search(r"(?:src|href)=\"(?!#)", html.replace('xlink:href="#', "")) and "@import" not in html
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert [m["name"] for m in figures["family"]] == ["rnn", "transformer"]
    assert figures["checklist"]["rnn"]["parallel in training"] == {
        "expected": "✗",
        "found": {"mark": "✓", "figure": "17 to 17 steps"},
    }
    assert len(figures["layers"]) == 2
    assert [d["holds"] for d in figures["demonstrations"]] == [True, False]
    assert "✓ Scaling (2.5.6). The article: It saturates. Measured: 13 % is left." in html
    assert html.count("The map: Place 3 of the ten.") == 1  # among what came out otherwise
    assert "水</text>" in html


def text_of(made: Comparison) -> str:
    return to_markdown("", build(made))


def test_a_member_that_takes_no_long_text_has_its_row_and_the_others_theirs(tmp_path: Path) -> None:
    rnn, transformer = comparison().family
    short = replace(transformer, label="Short", parallel=Parallel([4, 8], [5, 5], "constant", [0.002, 0.003]))
    for family in ([rnn, short], [short, rnn]):
        lines = text_of(replace(comparison(), family=family)).splitlines()
        assert "| steps | 4 | 8 | 16 | growth |" in lines
        assert "| Short | 5 | 5 | — | constant |" in lines and "| RNN | 17 | 17 | 17 | constant |" in lines
        assert "| Short | 2.0 | 3.0 | — |" in lines and "| RNN | 10.0 | 11.0 | 12.0 |" in lines


def test_what_a_word_is_worth_stands_under_its_distance(tmp_path: Path) -> None:
    rnn, transformer = comparison().family
    kept = [Kept(0, 0, 40, 1.0, 2.0), Kept(33, 35, 11, -0.25, 2.0)]
    labeller = replace(rnn, label="Labeller", forgetting=replace(rnn.forgetting, kept=kept))
    lines = text_of(replace(comparison(), family=[labeller, transformer])).splitlines()
    assert "|  | 0 | 1–3 | 4–7 | 8–15 | 16–31 | over 31 |" in lines
    assert "| Labeller | 1.00 (40) | — | — | — | — | -0.25 (11) |" in lines
    assert "| Transformer | — | — | 1.20 (31) | — | 1.10 (37) | — |" in lines


def test_time_is_told_to_half_of_the_best_score_or_to_the_one_asked_for() -> None:
    half, asked = text_of(comparison()), text_of(replace(comparison(), goal=12.5))
    assert "target tokens to BLEU 30" in half and "half of what the best one reached" in half
    assert "| Transformer | 1,009 | 3,001 | 61.0 / 71.0 | 2,000 | 1 |" in half.splitlines()
    assert "training s to BLEU 12.5" in asked and "what was asked for" in asked
    # Beside the speed that all have in common stands that of native code.
    assert "| Transformer | 2 | 1,500 | 0 | 37 | 101 |" in half.splitlines()


def test_the_same_figures_make_the_same_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_report(comparison(), tmp_path / name)
    assert (tmp_path / "a/report.html").read_bytes() == (tmp_path / "b/report.html").read_bytes()


def test_a_terminal_shows_tables_and_no_details() -> None:
    table = Table(["", "it [bold]is"], [["RNN", "≠ ✗ → ✓"]])
    sections = [Section("One", ["a [text]", table, Points(["a point"]), Detail("hidden", [table])])]
    console = Console(record=True, width=80, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        to_terminal("Title", sections, console)
    text = captured.get()
    assert "a [text]" in text and "≠ ✗ → ✓" in text and "- a point" in text and "hidden" not in text
    assert '<td class="differs">≠ ✗ → ✓</td>' in to_html("Title", sections)
    assert "| RNN | ≠ ✗ → ✓ |" in to_markdown("Title", sections)


def test_time_to_a_score_is_the_first_validation_that_has_it() -> None:
    scores = measured().scores
    assert time_to(scores, 31.0) == (2000, 1.3)
    assert time_to(scores, 60.0) is None
