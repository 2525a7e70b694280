"""What of a beam search's output is settled: tokens that no further step can take back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile

from transduce.search.watching import Step

Ids = tuple[int, ...]
Hear = Callable[[Ids], None]
"""Is told the settled tokens of a sentence, from the first one, whenever there are more of them."""


class Settled:
    """A watcher of one search that tells listeners what is settled.

    The output will be the best finished hypothesis so far, or one that goes on from a living one. So what all of these
    begin with is settled; in greedy search that is every token as it is chosen.
    """

    def __init__(self, listeners: Sequence[Hear | None]) -> None:
        self._listeners = listeners
        # At the first step the parent of a candidate is its sentence.
        self._rows: list[Ids] = [()] * len(listeners)
        self._best: dict[int, tuple[float, Ids]] = {}
        self._told = [0] * len(listeners)

    def __call__(self, step: Step) -> None:
        heard = [i for i, hear in enumerate(self._listeners) if hear is not None]
        sentences = step.sentences.tolist()
        for c in step.ends.nonzero()[0].tolist():
            score, sentence = float(step.scores[c]), sentences[c]
            if sentence not in self._best or score > self._best[sentence][0]:
                self._best[sentence] = score, self._rows[step.parents[c]]
        living: dict[int, list[Ids]] = {sentence: [] for sentence in heard}
        rows = []
        for c in step.lives.nonzero()[0].tolist():
            rows.append((*self._rows[step.parents[c]], int(step.tokens[c])) if sentences[c] in living else ())
            if sentences[c] in living:
                living[sentences[c]].append(rows[-1])
        self._rows = rows
        for sentence, paths in living.items():
            if paths:
                finished = [self._best[sentence][1]] if sentence in self._best else []
                self._tell(sentence, common([*paths, *finished]))

    def _tell(self, sentence: int, ids: Ids) -> None:
        hear = self._listeners[sentence]
        if hear is not None and len(ids) > self._told[sentence]:
            self._told[sentence] = len(ids)
            hear(ids)


def common(paths: Sequence[Ids]) -> Ids:
    """What all of some sequences, at least one, begin with."""
    same = takewhile(lambda column: all(a == b for a, b in pairwise(column)), zip(*paths, strict=False))
    return tuple(column[0] for column in same)
