"""Which differences count, by hand; and what the report says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.copy_run import tiny_experiment
from transduce.ablation.measured import Measured, difference, mean, spread
from transduce.ablation.plan import Variant
from transduce.ablation.report import Ablation, write_report
from transduce.ablation.rows import TABLE_3
from transduce.comparison.document import to_markdown
from transduce.comparison.run import Job

ROWS = {row.name: row for row in TABLE_3}


def test_mean_and_spread() -> None:
    assert mean([2.0, 5.0]) == 3.5 and spread([5.0, 2.0, 3.0]) == 3.0 and spread([7.0]) == 0


@pytest.mark.parametrize(
    ("row", "mark"),
    [
        ([12.0, 13.0], ""),  # 12.5 - 10.5 = 2, spreads 1, 1 and 1: more, and upwards as published
        ([8.0, 9.0], "≠"),  # -2: more, and downwards
        ([11.0, 12.0], "≈"),  # 1: as much as the spreads
        ([10.5, 14.5], "≈"),  # 2, but its own spread is 4
    ],
)
def test_a_difference_has_to_exceed_that_between_seeds(row: list[float], mark: str) -> None:
    base, other = [10.0, 11.0], [20.0, 21.0]
    found = difference(row, [base, other], (5.0, 4.0))
    assert (found.value, found.published, found.mark) == (mean(row) - 10.5, 1.0, mark)


def test_the_spread_of_other_rows_counts_where_two_seeds_are_close_by_chance() -> None:
    base, close, others = [10.0, 10.0], [12.0, 12.0], [[30.0, 33.0], [40.0, 46.0]]
    assert difference(close, [base, close], (5.0, 4.0)).mark == ""
    # The mean of 0, 0, 3 and 6 is 2.25.
    found = difference(close, [base, close, *others], (5.0, 4.0))
    assert (found.spread, found.mark) == (2.25, "≈")


def test_where_the_paper_found_no_difference_one_is_another_way() -> None:
    assert difference([12.0, 12.1], [[10.0, 10.1]], (4.92, 4.92)).mark == "≠"


def test_one_seed_tells_nothing() -> None:
    assert difference([20.0], [[10.0]], (5.0, 4.0)).mark == "?"


def ablation(folder: Path, *, seeds: int = 2) -> Ablation:
    experiment = tiny_experiment(folder)
    numbers = {"base": ([20.0, 20.2], [30.0, 31.0]), "C-N2": ([25.0, 25.2], [28.0, 29.0]),
               "C-ff4096": ([20.1, 20.3], [27.0, 26.0])}  # fmt: skip
    changes = {"base": {}, "C-N2": {"encoder_layers": 1, "decoder_layers": 1}, "C-ff4096": {"d_ff": 1024}}
    variants = [Variant(ROWS[name], changes[name], [Job(name, name, experiment, 1009)], "") for name in numbers]
    rows = [Measured(name, 1009, p[:seeds], b[:seeds], [1.0] * seeds) for name, (p, b) in numbers.items()]
    return Ablation(["Said."], variants, rows, list(range(1, seeds + 1)))


def test_the_report_has_published_and_measured_side_by_side(tmp_path: Path) -> None:
    sections = write_report(ablation(tmp_path), tmp_path)
    text = to_markdown("", sections)
    # 25.1 is 24.9 % above 20.1; 6.11 is 24.2 % above 4.92.
    assert "| C-N2 | 6.11 | 25.10 (0.20) | +24.2 → +24.9 % | 23.7 | 28.5 (1.0) | -2.1 → -2.0 |" in text
    # A wider feed-forward network gained 0.4 BLEU in the paper, and lost 4 here.
    assert "| C-ff4096 | 4.75 | 20.20 (0.20) | ≈ -3.5 → +0.5 % | 26.2 | 26.5 (1.0) | ≠ +0.4 → -4.0 |" in text
    assert "C-ff4096 (d\\_ff = 1024): BLEU -4.0, in the paper +0.4 (another way)" in text
    assert "0 of 2 rows differ from the base by no more than seeds do" in text
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert [row["bleu_from_base"]["mark"] for row in figures["rows"]] == ["≈", "", "≠"]
    assert figures["rows"][1]["row"]["published"] == {"perplexity": 6.11, "bleu": 23.7, "millions": 36}
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert html.count("<svg") == 1 and '<td class="differs">≠ +0.4 → -4.0</td>' in html


def test_the_report_of_one_seed_marks_every_difference(tmp_path: Path) -> None:
    text = to_markdown("", write_report(ablation(tmp_path, seeds=1), tmp_path))
    assert "| C-N2 | 6.11 | 25.00 | ? +24.2 → +25.0 % | 23.7 | 28.0 | ? -2.1 → -2.0 |" in text
    assert "Nothing can be said: train with a second seed." in text
