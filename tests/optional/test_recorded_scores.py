"""Our scores of 32 real systems' stored outputs are the recorded ones, to the digits that were recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from transduce.evaluation.scores import score
from transduce.text.lines import read_lines

SETS = Path(__file__).parents[3] / "shared" / "data" / "mt-test-sets"
ROW = re.compile(
    r"\| outputs/(\S+?)\.([a-z]{2}-[a-z]{2})\.(\S+)\.([a-z]{2})\.gz \| (13a|zh) \| \S+ \| (\S+) \| (\S+) \|"
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.shared_data,
    pytest.mark.skipif(not SETS.is_dir(), reason="needs the test sets beside the checkout: shared/data/mt-test-sets"),
]


def recorded() -> list[tuple[str, ...]]:
    return ROW.findall((SETS / "README.md").read_text(encoding="utf-8")) if SETS.is_dir() else []


def reference(name: str, direction: str, target: str) -> Path:
    """The other side of a set is stored once, under whichever direction names its files."""
    backwards = "-".join(reversed(direction.split("-")))
    candidates = [SETS / f"{name}{middle}.{target}.gz" for middle in (f".{direction}", f".{backwards}", "")]
    return next(path for path in candidates if path.exists())


def test_all_outputs_are_there() -> None:
    assert len(recorded()) == 32


@pytest.mark.parametrize("row", recorded(), ids=lambda row: ".".join(row[:4]))
def test_score_is_the_recorded_one(row: tuple[str, ...]) -> None:
    name, direction, system, target, tokeniser, bleu, chrf = row
    outputs = list(read_lines(SETS / "outputs" / f"{name}.{direction}.{system}.{target}.gz"))
    references = list(read_lines(reference(name, direction, target)))
    found = score(outputs, [references], language=target, metrics=("bleu", "chrf"))
    assert f"tok:{tokeniser}" in found[0].signature
    assert found[0].value == pytest.approx(float(bleu), abs=1e-4)
    assert found[1].value == pytest.approx(float(chrf), abs=1e-4)
