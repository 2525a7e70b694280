"""What the runs of a row came to, and which differences are larger than those between seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from transduce.ablation.plan import TEST, Variant
from transduce.errors import RunError
from transduce.run_folder import read_json
from transduce.training.journal import read_journal

Mark = Literal["", "≈", "≠", "?"]
"""As published; no larger than between seeds; the other way than published; not to be told from a single seed."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A row: a number for each seed, in their order."""

    name: str
    parameters: int
    perplexities: Sequence[float]
    """Per target token of the validation text, nothing smoothed, with the last weights."""
    bleus: Sequence[float]
    seconds: Sequence[float]
    """Of training."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A row's mean less the base's."""

    value: float
    published: float
    spread: float
    """What it has to exceed to mean anything."""
    mark: Mark


def measure(variant: Variant, out: Path) -> Measured:
    """From the records of the finished runs. Raises RunError where one has none."""
    found = [_read(out / trial.name) for trial in variant.trials]
    return Measured(variant.row.name, variant.trials[0].parameters, *([f[i] for f in found] for i in range(3)))


def signature(variant: Variant, out: Path) -> str:
    """How BLEU was counted."""
    return str(_bleu(out / variant.trials[0].name)["signature"])


def target_tokens(variant: Variant, out: Path) -> int:
    """What its first run learned from."""
    return int(read_json(out / variant.trials[0].name / "results.json")["target_tokens"])


def _read(run: Path) -> tuple[float, float, float]:
    """Perplexity, BLEU and seconds of a run."""
    validations = [e for e in read_journal(run / "journal.jsonl") if e["event"] == "validation"]
    if not validations:
        raise RunError(f"{run}: its journal has no validation: remove this run, and it is made again")
    return (
        float(validations[-1]["perplexity"]),
        float(_bleu(run)["value"]),
        float(read_json(run / "results.json")["training_seconds"]),
    )


def _bleu(run: Path) -> dict[str, Any]:
    scores = read_json(run / "results.json")["tests"][TEST]["scores"]
    return next(score for score in scores if score["name"] == "BLEU")


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def spread(values: Sequence[float]) -> float:
    """Between the highest and the lowest."""
    return max(values) - min(values)


def difference(row: Sequence[float], rows: Sequence[Sequence[float]], published: tuple[float, float]) -> Difference:
    """Of a row to the first of `rows`, the base; `published` are the paper's numbers for the two, row first.

    It has to exceed the largest of three spreads over the seeds: the row's, the base's, and the mean of all rows' (of
    two seeds one row may be close by chance).
    """
    value, paper = mean(row) - mean(rows[0]), published[0] - published[1]
    needed = max(spread(row), spread(rows[0]), mean([spread(other) for other in rows]))
    if len(row) < 2:
        return Difference(value, paper, needed, "?")
    if abs(value) <= needed:
        return Difference(value, paper, needed, "≈")
    return Difference(value, paper, needed, "" if value * paper > 0 else "≠")
