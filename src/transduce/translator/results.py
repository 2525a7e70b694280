"""What translating and scoring return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

REPETITIVE = 4
"""Times that a phrase comes in a row from which output is called repetitive: three may be emphasis."""


@dataclass(frozen=True, slots=True)
class Link:
    """The source piece that a target piece attends to most; places in characters, ends excluded."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int
    weight: float
    """Cross-attention weight, mean over layers and heads; at most 1."""
    probability: float
    """That the model gave the target piece, after those before it; at most 1."""

    def moved(self, source: int, target: int) -> Link:
        return replace(
            self,
            source_start=self.source_start + source,
            source_end=self.source_end + source,
            target_start=self.target_start + target,
            target_end=self.target_end + target,
        )


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the n best translations of a text."""

    text: str
    score: float
    """Length-penalised log-probability; of several lines, the sum."""
    log_probability: float
    """In nats, not penalised; of several lines, the sum."""


@dataclass(frozen=True, slots=True)
class Translation:
    """What became of one input text."""

    source: str
    alternatives: tuple[Alternative, ...]
    """The n best, best first; at least one."""
    alignment: tuple[Link, ...] = ()
    """Of the best one, where asked for: a link per target piece."""
    truncated: bool = False
    """Whether the output reached its greatest length before it ended, or ends only because of that."""
    repetitive: bool = False
    """Whether a phrase comes `REPETITIVE` times in a row or more, and more often than any in the source."""

    @property
    def text(self) -> str:
        return self.alternatives[0].text

    @property
    def score(self) -> float:
        return self.alternatives[0].score


@dataclass(frozen=True, slots=True)
class Scored:
    """Log-probabilities, in nats, that the model gives a translation."""

    pieces: tuple[str, ...]
    """Target pieces as people read them; the last is the end mark, where there is room for one."""
    token_log_probabilities: tuple[float, ...]
    cut: bool = False
    """Whether the target was too long for the task, so that this is its beginning."""

    @property
    def log_probability(self) -> float:
        return sum(self.token_log_probabilities)


def join(source: str, parts: Sequence[Translation], endings: Sequence[str]) -> Translation:
    """The translations of a text's lines as one, each line with its own ending.

    The n-th alternative joins each line's n-th, or its last where a line has fewer.
    """
    ranks = max((len(part.alternatives) for part in parts), default=1)
    alternatives = []
    for n in range(ranks):
        row = [part.alternatives[min(n, len(part.alternatives) - 1)] for part in parts]
        text = "".join(a.text + ending for a, ending in zip(row, endings, strict=True))
        alternatives.append(Alternative(text, sum(a.score for a in row), sum(a.log_probability for a in row)))
    links: list[Link] = []
    source_at = target_at = 0
    for part, ending in zip(parts, endings, strict=True):
        links += [link.moved(source_at, target_at) for link in part.alignment]
        source_at += len(part.source) + len(ending)
        target_at += len(part.text) + len(ending)
    return Translation(
        source,
        tuple(alternatives),
        tuple(links),
        any(part.truncated for part in parts),
        any(part.repetitive for part in parts),
    )


def most_in_a_row(ids: Sequence[int]) -> int:
    """How many times in a row a phrase of tokens comes at most; less than `REPETITIVE` is not told apart from 1."""
    most = 1
    for size in range(1, len(ids) // REPETITIVE + 1):
        # Each token that equals the one `size` before it carries the repetition on.
        carried = longest = 0
        for one, other in zip(ids, ids[size:], strict=False):
            carried = carried + 1 if one == other else 0
            if carried > longest:
                longest = carried
        most = max(most, longest // size + 1)
    return most if most >= REPETITIVE else 1
