"""Does it still know the beginning of a long sentence? (article 1.5, 1.6)"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from transduce.comparison.measures.influence import Influence
from transduce.comparison.subject import Subject
from transduce.evaluation.scores import score

DISTANCES = (0, 3, 7, 15, 31)
"""Most words that have been read since, of each group but the last."""
BOUNDS = (8, 12, 16, 24, 32)
"""Longest source, in tokens, of each group but the last."""
LEAST = 10
"""Sentences without which a group is not shown."""
RESAMPLINGS, SURE = 400, 0.975
"""Draws of as many sentences from those measured, with repetition, and the share of them that has to agree."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the word that was read first is still worth, so many words later."""

    nearest: int
    farthest: int
    """Words that were read since, least and most."""
    sentences: int
    share: float
    """Nats of what is written that hang on the first word, as a multiple of those that hang on a word on average."""
    nats: float
    """That hang on all words together, for each token that is written."""


@dataclass(frozen=True, slots=True)
class Group:
    """Sentences of like length, from all test sets."""

    shortest: int
    longest: int
    sentences: int
    bleu: float


@dataclass(frozen=True, slots=True)
class Forgetting:
    """By distance from the first word, and by the length of the source: the nearest and the shortest first."""

    kept: list[Kept]
    left: float | None
    """The share at the farthest, as a multiple of that at the nearest, is at most this in `SURE` of the resamplings."""
    groups: list[Group]


@dataclass(frozen=True, slots=True)
class Moment:
    """Something is written after so many words: what hangs on the first of them, and on one on average, in nats."""

    distance: int
    first: float
    mean: float
    tokens: int


Moments = Sequence[Sequence[Moment]]
"""Of each sentence."""


def measure_forgetting(subject: Subject, influences: Sequence[Influence]) -> Forgetting:
    found: dict[int, list[list[Moment]]] = defaultdict(list)
    for influence in influences:
        words = words_of(subject, influence)
        by_distance = defaultdict(list)
        for moment in _moments(subject, words, influence.lost):
            by_distance[group_of(moment.distance)].append(moment)
        for place, moments in by_distance.items():
            found[place].append(moments)
    shown = [found[place] for place in sorted(found) if len(found[place]) >= LEAST]
    left = left_at_most(shown[0], shown[-1]) if len(shown) > 1 else None
    return Forgetting([_kept(sentences) for sentences in shown], left, _groups(subject))


def group_of(distance: int) -> int:
    """Which of the groups of `DISTANCES`, from 0."""
    return sum(distance > bound for bound in DISTANCES)


def words_of(subject: Subject, influence: Influence) -> list[int]:
    """Tokens of the source that have a letter or a digit, in the order in which the model reads them.

    What ends a sentence is left out: it is always there, so that nothing hangs on it.
    """
    text = subject.tests[influence.test].sources[influence.row]
    pieces = subject.tokenizers.source.pieces(text)
    words = [j for j, piece in enumerate(pieces) if any(c.isalnum() for c in text[piece.start : piece.end])]
    return words[::-1] if subject.planned.experiment.model.reads_backwards else words


def _moments(subject: Subject, words: Sequence[int], lost: Tensor) -> Iterator[Moment]:
    """A network of one output for each input writes its i-th token when it has read i; others when they have read all,
    and then the whole sentence counts."""
    if "labeller" not in subject.model.capabilities:
        if words:
            yield _moment(lost[words].sum(1), lost.shape[1])
        return
    for i in range(lost.shape[1]):
        read = [j for j in words if j <= i]
        if read:
            yield _moment(lost[read, i], 1)


def _moment(hanging: Tensor, tokens: int) -> Moment:
    return Moment(len(hanging) - 1, float(hanging[0]), float(hanging.mean()), tokens)


def _kept(sentences: Moments) -> Kept:
    every = [moment for moments in sentences for moment in moments]
    distances = [m.distance for m in every]
    nats = sum(m.mean * (m.distance + 1) for m in every) / sum(m.tokens for m in every)
    return Kept(min(distances), max(distances), len(sentences), share(sentences), nats)


def share(sentences: Moments) -> float:
    """Nats that hang on the first word, as a multiple of those that hang on a word on average."""
    first, mean = (sum(getattr(m, name) for moments in sentences for m in moments) for name in ("first", "mean"))
    return first / mean if mean else 0.0


def left_at_most(near: Moments, far: Moments) -> float:
    """What is left of the share from near to far, at most: which sentences there happened to be is left to chance."""
    rng = random.Random(1)

    def left() -> float:
        before, after = (share(rng.choices(sentences, k=len(sentences))) for sentences in (near, far))
        return after / before if before else 0.0

    return sorted(left() for _ in range(RESAMPLINGS))[int(SURE * RESAMPLINGS)]


def _groups(subject: Subject) -> list[Group]:
    rows: list[list[tuple[int, str, str]]] = [[] for _ in range(len(BOUNDS) + 1)]
    for test, sources, texts in zip(subject.tests, subject.sources, subject.texts, strict=True):
        for ids, target, text in zip(sources, test.targets, texts, strict=True):
            rows[sum(len(ids) > bound for bound in BOUNDS)].append((len(ids), text, target))
    language = subject.planned.experiment.target_language
    return [_group(members, language) for members in rows if len(members) >= LEAST]


def _group(members: list[tuple[int, str, str]], language: str) -> Group:
    lengths = [length for length, *_ in members]
    (bleu,) = score([m[1] for m in members], [[m[2] for m in members]], language=language, metrics=("bleu",))
    return Group(min(lengths), max(lengths), len(members), bleu.value)
