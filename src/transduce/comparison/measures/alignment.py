"""Does it tell the important places of the source apart? What each written token hangs on, against known alignments
(article 1.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transduce.comparison.measures.influence import Influence
from transduce.comparison.subject import Subject
from transduce.demo.corpus import Example
from transduce.text.tokenizer import Piece
from transduce.translator.alignment import attends, cross_attention


@dataclass(frozen=True, slots=True)
class Alignment:
    """Alignment error rates, 0 to 1: 1 − (right links + pairs of phrases found) / (links + pairs of phrases).

    A link goes from a token of an aligned phrase of the reference to one of the source. It is right if that belongs to
    a phrase that translates its own.
    """

    sentences: int
    error: float
    """Of links to the source token whose replacement changes most what would be written at that place."""
    attention: float | None
    """Of links to the source token that is attended to most, mean over layers and heads; None without cross-attention.
    """
    diagonal: float
    """Of links to the place that stands as far along in its sentence: what knowing nothing gives."""


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


def measure_alignment(subject: Subject, influences: Sequence[Influence]) -> Alignment | None:
    """None where no alignment is known."""
    attending = attends(subject.model)
    ours, attention, diagonal = Count(), Count(), Count()
    sentences = 0
    for influence in influences:
        example = subject.tests[influence.test].examples[influence.row]
        if example is None or not example.alignment:
            continue
        sentences += 1
        source = subject.tokenizers.source.pieces(example.source)
        every = subject.tokenizers.target.pieces(example.target)
        # What the task has no room for is never written; and the end mark is no part of the text.
        moved = influence.moved[:, : len(every)]
        target = every[: moved.shape[1]]
        ours.add(example, source, target, moved.argmax(0).tolist())
        diagonal.add(example, source, target, [i * len(source) // len(every) for i in range(len(target))])
        if attending:
            ids = [[piece.id for piece in pieces] for pieces in (source, target)]
            weights = cross_attention([subject.model], subject.task, *ids)
            attention.add(example, source, target, weights.argmax(1).tolist())
    if not sentences:
        return None
    return Alignment(sentences, ours.error, attention.error if attending else None, diagonal.error)


def _overlap(piece: Piece, start: int, end: int) -> bool:
    return piece.start < end and piece.end > start
