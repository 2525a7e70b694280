"""The recipes in experiments/ load, say what the paper says, and survive a dry run on a little text."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from transduce.cli import app
from transduce.experiment.load import load

RECIPES = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))
WMT = [path for path in RECIPES if path.name.startswith("wmt14")]


def no_count(corpora: object) -> int:
    raise AssertionError("a recipe names its preset, so that its sizes don't depend on the text")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe_loads_without_its_data(path: Path) -> None:
    assert load(path, [], no_count).experiment.name


def test_the_papers_four_runs_are_there() -> None:
    assert {path.stem for path in WMT} == {f"wmt14_en_{t}_{size}" for t in ("de", "fr") for size in ("base", "big")}


@pytest.mark.parametrize("path", WMT, ids=lambda path: path.stem)
def test_wmt14_recipes_are_the_papers(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    experiment = load(path, [], no_count).experiment
    big, french = "big" in path.stem, "_fr_" in path.stem
    assert "Not run here" in text
    assert {"28.4", "41.8", "27.3", "38.1"} & set(text.replace(",", " ").split())
    assert experiment.model.d_model == (1024 if big else 512)
    assert experiment.model.dropout == (0.3 if big and not french else 0.1)
    assert experiment.training.max_updates == (300_000 if big else 100_000)
    assert experiment.training.average == (20 if big else 5)
    assert experiment.tokenizer.vocabulary == (32_000 if french else 37_000)
    assert experiment.training.update_tokens == 25_000


@pytest.mark.parametrize("path", WMT, ids=lambda path: path.stem)
def test_wmt14_recipes_dry_run(path: Path, tmp_path: Path) -> None:
    words = [f"{a}{b}" for a in ("ka", "lo", "mi", "nu") for b in ("st", "rd", "lp", "ng")]
    for side, turn in (("en", 1), ("xx", 3)):
        lines = [" ".join(words[(i * turn + j) % 16] for j in range(3 + i % 7)) for i in range(97)]
        (tmp_path / f"t.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (tmp_path / f"v.{side}").write_text(" ".join(words) + "\n", encoding="utf-8")
    files = {name: f'{{source = "{tmp_path}/{name}.en", target = "{tmp_path}/{name}.xx"}}' for name in ("t", "v")}
    settings = [f"data.train=[{files['t']}]", f"data.valid={files['v']}", "data.test={}"]
    arguments = [word for setting in settings for word in ("--set", setting)]
    result = CliRunner().invoke(app, ["prepare", str(path), "--dry-run", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "updates per epoch" in result.output
    assert "memory to expect" in result.output
