"""`transduce compare`: a small family from an experiment file to a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_type_hints

import pytest

from tests.support.command import InProcess
from transduce.cli.training import compare
from transduce.comparison.demonstrations.positions import equivariance
from transduce.comparison.family import DEMONSTRATIONS, FAMILY


@pytest.fixture
def arguments(experiment: Path, tmp_path: Path) -> tuple[object, ...]:
    return ("compare", "--data", experiment, "--tokens", 3000, "--out", tmp_path / "out", "--only", "rnn",
            "--only", "transformer")  # fmt: skip


def test_two_members_are_trained_measured_and_reported_and_then_reused(
    cli: InProcess, arguments: tuple[object, ...], tmp_path: Path
) -> None:
    done = cli(*arguments).succeeded()
    text = done.out.decode()
    assert "Expected, then measured" in text and "What a layer costs" in text
    assert "2 of 2: Transformer" in done.err and "report.html" in done.err
    for name in ("report.html", "report.md", "figures.json", "rnn/results.json", "transformer/results.json"):
        assert (tmp_path / "out" / name).is_file()
    figures = json.loads((tmp_path / "out/figures.json").read_text(encoding="utf-8"))
    sizes = [member["scores"]["parameters"] for member in figures["family"]]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.15)
    # Of any text it is known what hangs on the first word; alignments and 水 are the demo's alone.
    assert all(len(member["forgetting"]["kept"]) > 1 for member in figures["family"])
    assert [(member["alignment"], member["context"]) for member in figures["family"]] == [(None, None)] * 2
    assert all(member["scores"]["tests"].keys() == {"validation"} for member in figures["family"])
    assert "Lines of the tests: “validation” 50. Scores are of all of them." in figures["setting"]
    growths = {member["name"]: member["parallel"]["growth"] for member in figures["family"]}
    assert growths == {"rnn": "linear", "transformer": "constant"}
    again = cli(*arguments, "--score", 0.5).succeeded()
    assert again.err.count("trained already") == 2
    assert "target tokens to BLEU 0.5" in (tmp_path / "out/report.md").read_text(encoding="utf-8")


def test_demonstrations_alone_train_no_member(cli: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transduce.comparison.compare.demonstrate", lambda say: [equivariance()])
    text = cli("compare", "--only", "demonstrations", "--out", tmp_path / "out").succeeded().out.decode()
    assert "Without positions the order is not seen" in text and "The checklist" not in text
    figures = json.loads((tmp_path / "out/figures.json").read_text(encoding="utf-8"))
    assert (figures["family"], figures["demonstrations"][0]["holds"]) == ([], True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["figures.json", "report.html", "report.md"]


def test_the_help_names_all_that_can_be_chosen() -> None:
    option = get_type_hints(compare, include_extras=True)["only"].__metadata__[0]
    assert option.help.split(": ")[1].rstrip(".").split(", ") == [*(m.name for m in FAMILY), DEMONSTRATIONS]


def test_what_is_wrong_is_said(cli: InProcess, arguments: tuple[object, ...]) -> None:
    cli("compare", "--tokens", 5, "--minutes", 1).refused("two budgets")
    cli("compare", "--minutes", 0).refused("above 0")
    cli("compare", "--score", 0).refused("--score 0: expected a BLEU above 0")
    cli("compare", "--only", "elman").refused("--only elman", "transformer")
