"""How good, how large and how fast it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transduce.comparison.subject import Subject
from transduce.evaluation.scores import exact_match, score
from transduce.run_folder.files import read_json
from transduce.training.journal import read_journal


@dataclass(frozen=True, slots=True)
class Scores:
    """Of a whole run."""

    parameters: int
    updates: int
    target_tokens: int
    """Those that were trained on, end marks included."""
    training_seconds: float
    tests: dict[str, dict[str, float]]
    """BLEU, chrF2 and exact, for each test set."""
    signatures: list[str]
    sentences_per_second: float
    """Of translation, all test sets together."""
    curve: list[tuple[int, float, float, float]]
    """For each validation: target tokens so far, seconds, loss in nats, BLEU."""


def measure_scores(subject: Subject) -> Scores:
    results: dict[str, Any] = read_json(subject.run / "results.json")
    language, scoring = subject.planned.experiment.target_language, subject.planned.experiment.scoring
    tests, signatures = {}, []
    for test, texts in zip(subject.tests, subject.texts, strict=True):
        references = [[subject.tokenizers.target.plain(target) for target in test.targets]]
        found = score(texts, references, language=language, scoring=scoring, metrics=("bleu", "chrf"))
        signatures = [f"{one.name} {one.signature}" for one in found]
        tests[test.name] = {one.name: one.value for one in (*found, exact_match(texts, references))}
    curve = [
        (int(e["target_tokens"]), float(e["seconds"]), float(e["loss"]), float(e["bleu"] or 0.0))
        for e in read_journal(subject.run / "journal.jsonl")
        if e["event"] == "validation"
    ]
    return Scores(
        subject.planned.parameters,
        int(results["updates"]),
        int(results["target_tokens"]),
        float(results["training_seconds"]),
        tests,
        signatures,
        sum(len(test.sources) for test in subject.tests) / subject.seconds,
        curve,
    )


def time_to(scores: Scores, bleu: float) -> tuple[int, float] | None:
    """Target tokens and seconds until a validation first had this BLEU; None if none had."""
    return next(((tokens, seconds) for tokens, seconds, _, value in scores.curve if value >= bleu), None)
