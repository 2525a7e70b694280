"""Beam search; a beam of 1 is greedy search.

At each step the candidates of a sentence are its hypotheses with one token more. An end mark among the
best `beam` candidates finishes a hypothesis; the best `beam` others live on. So a finished hypothesis
takes no place from the living. A beam of 1 commits itself: its first end mark ends the search.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from transduce.models.contract import StepModel
from transduce.search.config import DecodingConfig
from transduce.search.constraints import Constraints
from transduce.search.hypothesis import Hypothesis, Paths
from transduce.search.length_penalty import LengthPenalty
from transduce.search.limits import Limits
from transduce.search.stepping import Stepper, best
from transduce.search.watching import Step, Watcher
from transduce.text.specials import EOS

UNLIKELY = 0.1
"""Probability of an end mark below which the model did not mean to end there."""


def beam_search(
    model: StepModel,
    memory: Any,
    limits: Limits,
    config: DecodingConfig,
    constraints: Constraints,
    device: torch.device,
    watch: Watcher | None = None,
) -> list[list[Hypothesis]]:
    """The `nbest` best hypotheses of each sentence; the best truncated ones where none could finish.

    `watch` is shown the candidates of every step, and may end the search for a sentence.
    """
    sentences = len(limits.tokens)
    penalty = LengthPenalty(config.length_penalty, config.length_penalty_form)
    kept = _Kept(sentences, config.nbest)
    paths = Paths.start(np.arange(sentences))
    # A sentence has one row until its hypotheses differ, so cross-attention is set up once for all of them.
    stepper = Stepper(model, memory, sentences, limits.capacity, device)
    while len(paths):
        log_probs = stepper.log_probs()
        constraints.apply(log_probs, paths.tokens, paths.sentences)
        # One end mark and `beam` others: no row can contribute more than that.
        values, ids = best(log_probs, config.beam + 1)
        parents, tokens, gains = _candidates(paths, values, ids)
        of = paths.sentences[parents]
        ends, chosen = _split(of, tokens, config.beam)
        divisor = penalty(np.array(paths.length + 1))
        scores = (paths.totals[parents] + gains) / divisor
        if config.patience:
            np.add.at(kept.ended, of[ends], 1)
        for c in np.flatnonzero(ends & (scores > kept.worst[of])).tolist():
            kept.offer(int(of[c]), paths.hypothesis(int(parents[c]), penalty, float(gains[c])))
        goes_on = chosen & (limits.tokens[of] > paths.length)
        longer = paths.extend(parents[goes_on], tokens[goes_on], gains[goes_on])
        open_ = _open(longer, kept, limits, penalty, config)
        if watch is not None:
            lives = goes_on & open_[of]
            left = watch(Step(of, parents, tokens, gains, scores, float(divisor), ends, chosen, goes_on, lives))
            open_[list(left or ())] = False
        for sentence in sorted(set(paths.sentences[~open_[paths.sentences]].tolist())):
            found = kept.lists[sentence]
            if not found:
                kept.lists[sentence] = _truncated(sentence, longer, paths, penalty, config.nbest)
            elif config.beam > 1 and limits.steps[sentence] <= longer.length:
                found[0] = _judged(found[0], *_truncated(sentence, longer, paths, penalty, 1))
        rows = np.flatnonzero(open_[longer.sentences])
        paths = longer.where(rows)
        if len(paths):
            stepper.follow(parents[goes_on][rows], paths.tokens[:, -1])
    return kept.lists


class _Kept:
    """The best finished hypotheses of each sentence, best first; of equals, the one that finished first."""

    def __init__(self, sentences: int, most: int) -> None:
        self._most = most
        self.lists: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.worst = np.full(sentences, -np.inf)
        """The score to beat; minus infinity while there is room."""
        self.ended = np.zeros(sentences, dtype=np.int64)
        """Hypotheses that have ended, kept or not; counted where `patience` asks for it."""

    def offer(self, sentence: int, hypothesis: Hypothesis) -> None:
        if hypothesis.score > self.worst[sentence]:
            found = self.lists[sentence]
            insort(found, hypothesis, key=lambda h: -h.score)
            del found[self._most :]
            if len(found) == self._most:
                self.worst[sentence] = found[-1].score


def _candidates(
    paths: Paths, values: Float[np.ndarray, "n w"], ids: Int[np.ndarray, "n w"]
) -> tuple[Int[np.ndarray, "c"], Int[np.ndarray, "c"], Float[np.ndarray, "c"]]:
    """Row, token and the token's log-probability of each candidate: by sentence, best first.

    Of equals the lower id comes first, then the lower row.
    """
    parents, columns = np.nonzero(values > -np.inf)
    tokens, gains = ids[parents, columns], values[parents, columns]
    order = np.lexsort((parents, tokens, -(paths.totals[parents] + gains), paths.sentences[parents]))
    return parents[order], tokens[order], gains[order]


def _split(
    sentences: Int[np.ndarray, "c"], tokens: Int[np.ndarray, "c"], beam: int
) -> tuple[Bool[np.ndarray, "c"], Bool[np.ndarray, "c"]]:
    """Which candidates finish a hypothesis, and which are the best `beam` that go on."""
    is_end, leading = tokens == EOS, _rank(sentences) < beam
    if not is_end.any():
        return is_end, leading
    goes_on = ~is_end
    goes_on[goes_on] = _rank(sentences[goes_on]) < beam
    return is_end & leading, goes_on


def _rank(groups: Int[np.ndarray, "c"]) -> Int[np.ndarray, "c"]:
    """Place of each element within its group, from 0; `groups` is in rising order."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)


def _open(
    paths: Paths, kept: _Kept, limits: Limits, penalty: LengthPenalty, config: DecodingConfig
) -> Bool[np.ndarray, "b"]:
    """Which sentences are worth another step.

    The early stop is exact: it looks at the best score that the most probable living hypothesis could
    still reach, and no other of the sentence can do better, as all have the same length.
    """
    living = np.zeros(len(limits.steps), dtype=bool)
    living[paths.sentences] = True
    open_ = living & (limits.steps > paths.length)
    if config.beam == 1:
        return open_ & np.array([not found for found in kept.lists])
    if config.patience:
        open_ &= kept.ended < config.patience * config.beam
    if config.early_stop:
        total = np.full(len(open_), -np.inf)
        np.maximum.at(total, paths.sentences, paths.totals)
        shortest = np.full(len(open_), paths.length + 1)
        open_ &= penalty.best(total, shortest, limits.steps) > kept.worst
    return open_


def _judged(best: Hypothesis, unfinished: Hypothesis) -> Hypothesis:
    """`best`, marked as limited where only the greatest length kept the unfinished one from going on to beat it."""
    if unfinished.score > best.score and best.token_log_probabilities[-1] < math.log(UNLIKELY):
        return replace(best, limited=True)
    return best


def _truncated(sentence: int, longer: Paths, paths: Paths, penalty: LengthPenalty, most: int) -> list[Hypothesis]:
    """The best unfinished hypotheses: of this step, or of the one before if none may be longer."""
    last = longer if (longer.sentences == sentence).any() else paths
    rows = np.flatnonzero(last.sentences == sentence)[:most]
    return [last.hypothesis(int(row), penalty, None) for row in rows]
