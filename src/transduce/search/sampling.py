"""Sampling: output drawn at random from the model's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.models.contract import StepModel
from transduce.search.config import DecodingConfig
from transduce.search.constraints import Constraints
from transduce.search.hypothesis import Hypothesis, Paths
from transduce.search.length_penalty import LengthPenalty
from transduce.search.limits import Limits
from transduce.search.stepping import Stepper, check_finite
from transduce.text.specials import BOS, EOS


def sample(
    model: StepModel,
    memory: Any,
    limits: Limits,
    config: DecodingConfig,
    constraints: Constraints,
    device: torch.device,
    sentence_ids: Sequence[int],
) -> list[list[Hypothesis]]:
    """`nbest` independent samples of each sentence, best score first; the same output may come up twice.

    Log-probabilities are the model's, before temperature, top_k and top_p.
    """
    penalty = LengthPenalty(config.length_penalty, config.length_penalty_form)
    found: list[list[Hypothesis]] = [[] for _ in sentence_ids]
    first = np.arange(len(sentence_ids) * config.nbest)
    paths = Paths.start(first // config.nbest)
    uniform = _uniform(sentence_ids, config, limits.capacity)
    stepper = Stepper(model, memory, len(sentence_ids), limits.capacity, device)
    if config.nbest > 1:
        stepper.follow(paths.sentences, np.full(len(paths), BOS))
    while len(paths):
        log_probs = stepper.log_probs()
        constraints.apply(log_probs, paths.tokens, paths.sentences)
        drawn = draw(log_probs, torch.from_numpy(uniform[:, paths.length]).to(device), config)
        ids = drawn.cpu().numpy()
        gains = log_probs.gather(1, drawn[:, None])[:, 0].cpu().numpy().astype(np.float64)
        check_finite(gains)
        possible = gains > -np.inf
        ends = possible & (ids == EOS)
        goes_on = possible & ~ends & (limits.tokens[paths.sentences] > paths.length)
        for row in np.flatnonzero(~goes_on).tolist():
            end = float(gains[row]) if ends[row] else None
            found[paths.sentences[row]].append(paths.hypothesis(row, penalty, end))
        parents = np.flatnonzero(goes_on)
        longer = paths.extend(parents, ids[parents], gains[parents])
        full = limits.steps[longer.sentences] <= longer.length
        for row in np.flatnonzero(full).tolist():
            found[longer.sentences[row]].append(longer.hypothesis(row, penalty, None))
        rows = np.flatnonzero(~full)
        paths, uniform = longer.where(rows), uniform[parents[rows]]
        if len(paths):
            stepper.follow(parents[rows], paths.tokens[:, -1])
    return [sorted(hypotheses, key=lambda h: -h.score) for hypotheses in found]


def draw(log_probs: Float[Tensor, "n v"], uniform: Float[Tensor, "n"], config: DecodingConfig) -> Int[Tensor, "n"]:
    """One token per row: the inverse of the cumulative distribution at `uniform`, numbers in [0, 1).

    A row where every token is banned yields any token; its log-probability shows it.
    """
    scaled = (log_probs - log_probs.amax(dim=1, keepdim=True)) / config.temperature
    scaled = scaled.nan_to_num(nan=0.0, neginf=-torch.inf)
    if not config.top_k and config.top_p == 1:
        return _invert(scaled.softmax(dim=1), uniform)
    scaled, ids = scaled.sort(dim=1, descending=True, stable=True)
    if config.top_k:
        scaled[:, config.top_k :] = -torch.inf
    probs = scaled.softmax(dim=1)
    if config.top_p < 1:
        beyond = probs.cumsum(dim=1) - probs >= config.top_p
        beyond[:, 0] = False  # the likeliest stays, however small a top_p, which in float32 may be 0
        probs = probs.masked_fill(beyond, 0.0)
    return ids.gather(1, _invert(probs, uniform)[:, None])[:, 0]


def _invert(probs: Float[Tensor, "n v"], uniform: Float[Tensor, "n"]) -> Int[Tensor, "n"]:
    """The first place where the cumulative sum passes `uniform` x the row's sum: never one of probability 0."""
    cumulative = probs.cumsum(dim=1)
    # float32 numbers in [0, 1) end at 1 - 2^-24, so the product is always rounded to less than the sum.
    return torch.searchsorted(cumulative, uniform[:, None] * cumulative[:, -1:], right=True)[:, 0]


def _uniform(sentence_ids: Sequence[int], config: DecodingConfig, steps: int) -> Float[np.ndarray, "n {steps}"]:
    """Random numbers in [0, 1), a row per sample, seeded by (seed, sentence, sample): a row does not change
    with the rest of the batch, and more steps only add to its end."""
    return np.array(
        [
            np.random.default_rng((config.seed, sentence, number)).random(steps, np.float32)
            for sentence in sentence_ids
            for number in range(config.nbest)
        ]
    )
