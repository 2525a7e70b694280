"""The tree of one beam search: every candidate that was weighed, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from transduce.search.hypothesis import Hypothesis
from transduce.search.watching import Step
from transduce.text.specials import EOS

Fate = Literal["lives", "finished", "beam", "length", "stopped"]
"""What became of a candidate: it goes on, or ends here; or it was dropped, since others of its step are more probable
and the beam is full, since output may not be longer, or since the search ended as nothing better could come."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hypothesis with one token more. All logarithms are natural."""

    number: int
    """From 1, in the order of the search; 0 is the start, before any token."""
    parent: int
    """Number of the candidate that it goes on from."""
    step: int
    """Tokens that it has, itself included."""
    token: int
    log_probability: float
    """Of the token."""
    total: float
    """Sum of the log-probabilities of all tokens so far."""
    penalty: float
    """What the total is divided by for its length."""
    score: float
    fate: Fate
    rank: int | None
    """Its place among the results of the search, from 1; None if it is no result."""


@dataclass(frozen=True, slots=True)
class SearchTree:
    """The candidates of one sentence in the order in which they were weighed: by step, the most probable first."""

    beam: int
    length_penalty: float
    candidates: tuple[Candidate, ...]

    def path(self, number: int) -> list[Candidate]:
        """The candidates from the first token to this one."""
        found = []
        while number:
            found.append(self.candidates[number - 1])
            number = found[-1].parent
        return found[::-1]

    def children(self, number: int) -> list[Candidate]:
        return [c for c in self.candidates if c.parent == number]

    def results(self) -> list[Candidate]:
        """Where the results of the search end, best first."""
        return sorted((c for c in self.candidates if c.rank is not None), key=lambda c: c.rank or 0)


class Grower:
    """Watches the search of a single sentence and makes its tree."""

    def __init__(self) -> None:
        self._rows = [0]
        self._totals = [0.0]
        self._found: list[Candidate] = []

    def __call__(self, step: Step) -> None:
        """One step of the search. Rows of the step before are what lived on from it, in their order."""
        living = []
        for c, parent in enumerate(step.parents.tolist()):
            before = self._rows[parent]
            log_probability = float(step.log_probs[c])
            total = self._totals[before] + log_probability
            self._totals.append(total)
            candidate = Candidate(
                number=len(self._totals) - 1,
                parent=before,
                step=self._found[before - 1].step + 1 if before else 1,
                token=int(step.tokens[c]),
                log_probability=log_probability,
                total=total,
                penalty=step.penalty,
                score=float(step.scores[c]),
                fate=_fate(step, c),
                rank=None,
            )
            self._found.append(candidate)
            if candidate.fate == "lives":
                living.append(candidate.number)
        self._rows = living

    def tree(self, results: Sequence[Hypothesis], *, beam: int, length_penalty: float) -> SearchTree:
        """The whole tree, with each result's rank."""
        tree = SearchTree(beam, length_penalty, tuple(self._found))
        ranks: dict[int, int] = {}
        for rank, result in enumerate(results, start=1):
            ended = len(result.token_log_probabilities) > len(result.ids)
            wanted = (*result.ids, EOS) if ended else result.ids
            ranks[_find(tree, wanted)] = rank
        return replace(tree, candidates=tuple(replace(c, rank=ranks.get(c.number)) for c in self._found))


def _fate(step: Step, c: int) -> Fate:
    if step.ends[c]:
        return "finished"
    if not step.chosen[c]:
        return "beam"
    if not step.fits[c]:
        return "length"
    return "lives" if step.lives[c] else "stopped"


def _find(tree: SearchTree, ids: Sequence[int]) -> int:
    number = 0
    for id in ids:
        number = next(c.number for c in tree.children(number) if c.token == id)
    return number
