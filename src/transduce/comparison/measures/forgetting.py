"""Does it still know the beginning of a long sentence? (article 1.5, 1.6)"""

from __future__ import annotations

from dataclasses import dataclass

from transduce.comparison.measures.words import says
from transduce.comparison.subject import Subject
from transduce.demo.corpus import Example
from transduce.evaluation.scores import score

BOUNDS = (8, 12, 16, 24, 32)
"""Longest source, in tokens, of each group but the last."""
LEAST = 10
"""Sentences without which a group is not shown."""


@dataclass(frozen=True, slots=True)
class Group:
    """Sentences of like length, from all test sets."""

    shortest: int
    longest: int
    sentences: int
    recall: float
    """Share of the outputs that have what the source's first phrase is translated by; where no alignment is known,
    the reference's first word."""
    bleu: float


def first_phrase(example: Example | None, reference: str) -> str:
    """What must be in the output if the source's beginning was not forgotten."""
    if example is not None and example.alignment:
        _, _, start, end = example.alignment[0]
        return example.target[start:end]
    return reference.split()[0] if reference.split() else ""


def measure_forgetting(subject: Subject) -> list[Group]:
    """The groups, the shortest sentences first."""
    rows: list[list[tuple[int, bool, str, str]]] = [[] for _ in range(len(BOUNDS) + 1)]
    for test, sources, texts in zip(subject.tests, subject.sources, subject.texts, strict=True):
        for ids, target, example, text in zip(sources, test.targets, test.examples, texts, strict=True):
            kept = says(text, first_phrase(example, target))
            rows[sum(len(ids) > bound for bound in BOUNDS)].append((len(ids), kept, text, target))
    language = subject.planned.experiment.target_language
    return [_group(members, language) for members in rows if len(members) >= LEAST]


def _group(members: list[tuple[int, bool, str, str]], language: str) -> Group:
    lengths = [length for length, *_ in members]
    (bleu,) = score([m[2] for m in members], [[m[3] for m in members]], language=language, metrics=("bleu",))
    recall = sum(m[1] for m in members) / len(members)
    return Group(min(lengths), max(lengths), len(members), recall, bleu.value)
