"""How good, how large and how fast it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transduce.comparison.subject import Subject
from transduce.run_folder.files import read_json
from transduce.training.journal import read_journal

SHOWN = ("BLEU", "chrF2", "exact")


@dataclass(frozen=True, slots=True)
class Scores:
    """Of a whole run."""

    parameters: int
    updates: int
    target_tokens: int
    """Those that were trained on, end marks included."""
    training_seconds: float
    """Of updates alone."""
    validation_seconds: float
    tests: dict[str, dict[str, float]]
    """BLEU, chrF2 and exact, for each whole test set, as the run recorded them."""
    signatures: list[str]
    sentences_per_second: float
    """Of translation, of the lines that are looked at, of all test sets together."""
    native_sentences_per_second: float | None
    """The same by native code; None for a model that has none."""
    curve: list[tuple[int, float, float, float]]
    """For each validation: target tokens so far, seconds of updates, loss in nats, BLEU."""


def measure_scores(subject: Subject) -> Scores:
    results: dict[str, Any] = read_json(subject.run / "results.json")
    tests, signatures = {}, []
    for test in subject.tests:
        found = {one["name"]: one for one in results["tests"][test.name]["scores"]}
        tests[test.name] = {name: float(found[name]["value"]) for name in SHOWN}
        signatures = [f"{name} {found[name]['signature']}" for name in SHOWN if name != "exact"]
    curve, validating = [], 0.0
    for event in read_journal(subject.run / "journal.jsonl"):
        if event["event"] == "validation":
            seconds = float(event["seconds"]) - validating
            curve.append((int(event["target_tokens"]), seconds, float(event["loss"]), float(event["bleu"] or 0.0)))
            validating += float(event["took"])
    lines = sum(len(test.sources) for test in subject.tests)
    native = subject.native_seconds
    return Scores(
        subject.planned.parameters,
        int(results["updates"]),
        int(results["target_tokens"]),
        max(0.0, float(results["training_seconds"]) - validating),
        validating,
        tests,
        signatures,
        lines / subject.seconds,
        None if native is None else lines / native,
        curve,
    )


def time_to(scores: Scores, bleu: float) -> tuple[int, float] | None:
    """Target tokens and seconds of updates until a validation first had this BLEU; None if none had."""
    return next(((tokens, seconds) for tokens, seconds, _, value in scores.curve if value >= bleu), None)
