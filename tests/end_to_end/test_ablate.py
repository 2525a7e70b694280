"""`transduce ablate`: rows of Table 3 from an experiment file to a report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.command import InProcess


@pytest.fixture
def arguments(experiment: Path, tmp_path: Path) -> tuple[object, ...]:
    return ("ablate", experiment, "--rows", "E", "--seeds", "1,2", "--tokens", 3000, "--run", tmp_path / "out")


def test_rows_are_trained_with_each_seed_reported_and_then_reused(
    cli: InProcess, arguments: tuple[object, ...], tmp_path: Path
) -> None:
    done = cli(*arguments).succeeded()
    out = tmp_path / "out"
    assert "Table 3, published and measured" in done.out.decode() and "E-learned" in done.out.decode()
    assert "2 rows, seeds 1, 2: 4 runs" in done.err and "4 of 4: E-learned, seed 2" in done.err
    assert (out / "report.html").is_file() and (out / "report.md").is_file()
    figures = json.loads((out / "figures.json").read_text(encoding="utf-8"))
    base, learned = figures["rows"]
    # 1024 positions of width 12 more; two seeds begin and end apart.
    assert learned["parameters"] - base["parameters"] == 1024 * 12
    assert all(len(set(row["perplexities"])) == 2 for row in figures["rows"])
    # The last weights are those that are measured: there is one checkpoint to average.
    record = json.loads((out / "base-seed1/average/state.json").read_text(encoding="utf-8"))
    assert len(record["updates"]) == 1
    before = (out / "base-seed1/results.json").read_bytes()
    shutil.rmtree(out / "E-learned-seed2")
    again = cli(*arguments).succeeded()
    assert again.err.count("trained already") == 3
    assert (out / "base-seed1/results.json").read_bytes() == before
    after = json.loads((out / "figures.json").read_text(encoding="utf-8"))["rows"]
    # The run that was made again is the same, but for the time that it took.
    assert [(row["perplexities"], row["bleus"]) for row in after] == [
        (r["perplexities"], r["bleus"]) for r in (base, learned)
    ]


def test_what_is_wrong_is_said(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    cli("ablate", experiment, "--rows", "A,F").refused("--rows F", "big")
    cli("ablate", experiment, "--seeds", "1,1").refused("--seeds 1,1", "different whole numbers")
    cli("ablate", experiment, "--seeds", "one").refused("--seeds one")
    cli("ablate", experiment, "--tokens", 0).refused("--tokens 0")
    cli("ablate", tmp_path / "none.toml").refused("none.toml")
