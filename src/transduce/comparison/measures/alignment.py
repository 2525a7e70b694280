"""Does it tell the important places of the source apart? Its cross-attention against known alignments (article 1.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transduce.comparison.subject import Subject
from transduce.demo.corpus import Example
from transduce.text.tokenizer import Piece
from transduce.translator.alignment import attends, cross_attention

SENTENCES = 100
"""Sentences of the first test set that are aligned."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Alignment error rate, 0 to 1: 1 − (right links + pairs of phrases found) / (links + pairs of phrases).

    A link goes from a token of an aligned phrase of the reference to the source token that it attends to most (mean
    over layers and heads). It is right if that token belongs to a phrase that translates its own.
    """

    sentences: int
    error: float
    diagonal: float
    """The same of a link to the place that stands as far along in its sentence: what knowing nothing gives."""


@dataclass(slots=True)
class Count:
    """Links and pairs of phrases so far."""

    right: int = 0
    found: int = 0
    links: int = 0
    phrases: int = 0

    def add(self, example: Example, source: Sequence[Piece], target: Sequence[Piece], links: Sequence[int]) -> None:
        """Count a sentence; `links` has the number of a source token for each target token."""
        met = set()
        for piece, j in zip(target, links, strict=True):
            pairs = [pair for pair in example.alignment if _overlap(piece, pair[2], pair[3])]
            hits = [pair for pair in pairs if _overlap(source[j], pair[0], pair[1])]
            self.links += bool(pairs)
            self.right += bool(hits)
            met.update(hits)
        self.found += len(met)
        self.phrases += len(set(example.alignment))

    @property
    def error(self) -> float:
        return 1 - (self.right + self.found) / max(1, self.links + self.phrases)


def measure_alignment(subject: Subject) -> Alignment | None:
    """None where no alignment is known; error 1 for a model that has no weights to link by."""
    known = [example for example in subject.tests[0].examples if example is not None and example.alignment]
    if not known:
        return None
    attending = attends(subject.model)
    ours, diagonal = Count(), Count()
    for example in known[:SENTENCES]:
        source = subject.tokenizers.source.pieces(example.source)
        target = subject.tokenizers.target.pieces(example.target)
        n, m = len(source), len(target)
        diagonal.add(example, source, target, [i * n // m for i in range(m)])
        if attending:
            ids = [[piece.id for piece in pieces] for pieces in (source, target)]
            weights = cross_attention([subject.model], subject.task, *ids)
            ours.add(example, source, target, weights.argmax(1).tolist())
    count = min(len(known), SENTENCES)
    return Alignment(count, ours.error if attending else 1.0, diagonal.error)


def _overlap(piece: Piece, start: int, end: int) -> bool:
    return piece.start < end and piece.end > start
