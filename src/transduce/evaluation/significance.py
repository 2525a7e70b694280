"""Whether a difference between two systems is more than chance: sacreBLEU's paired bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.significance import PairedTest, Result

from transduce.evaluation.scores import ScoringConfig, bounded, calculators, refuse_uneven

SAMPLES = 1000
"""Times that the test set is drawn anew, with replacement; sacreBLEU's own default and seed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of a baseline and of a system on the same test."""

    name: str
    baseline: float
    system: float
    p_value: float
    """Chance to see such a difference, or a larger one, if there were none."""
    signature: str

    def __str__(self) -> str:
        verdict = "significant at 0.05" if self.p_value < 0.05 else "not significant at 0.05"
        return (
            f"{self.name} {self.system:.2f} against {self.baseline:.2f}: {self.system - self.baseline:+.2f}, "
            f"p = {self.p_value:.4f}, {verdict}  ({self.signature})"
        )


def compare(
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    language: str = "",
    scoring: ScoringConfig | None = None,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
) -> list[Comparison]:
    """Paired bootstrap resampling of `system` against `baseline` (Koehn 2004); all lists as long as each other."""
    refuse_uneven(system, [baseline, *references])
    known = calculators(language, scoring)
    chosen = {name: known[name] for name in metrics}
    test = PairedTest(
        [("baseline", list(baseline)), ("system", list(system))],
        chosen,
        [list(reference) for reference in references],
        test_type="bs",
        n_samples=SAMPLES,
    )
    signatures, results = test()
    found = []
    for name in results:
        rows = [row for row in results[name] if isinstance(row, Result)]
        if rows:
            first, second = rows
            p_value = 1.0 if second.p_value is None else float(second.p_value)
            old, new = (bounded(name, float(row.score)) for row in (first, second))
            found.append(Comparison(name, old, new, p_value, str(signatures[name])))
    return found
