"""The one search for every model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Int
from torch import Tensor, nn

from transduce.errors import InputError
from transduce.models.contract import StepModel
from transduce.search.beam import beam_search
from transduce.search.config import DecodingConfig
from transduce.search.constraints import Constraints, banned_ids
from transduce.search.hypothesis import Hypothesis
from transduce.search.limits import Limits
from transduce.search.sampling import sample
from transduce.search.watching import Watcher


def search(
    model: StepModel,
    source: Int[Tensor, "b s"],
    lengths: Int[Tensor, "b"],
    config: DecodingConfig,
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    sentence_ids: Sequence[int] | None = None,
    banned: Sequence[int] | None = None,
    watch: Watcher | None = None,
) -> list[list[Hypothesis]]:
    """Find output for each sentence: a list of at most `config.nbest` hypotheses, best first.

    What else is in the batch does not matter. Each sentence gets at least one hypothesis, and fewer than
    `nbest` where no more exist; truncated ones (`finished` false) only where none could finish.

    source: ids on the model's device, padded. An empty sentence (length 0) has no output to search for:
        the caller passes it by.
    prefixes: ids that each sentence's output must begin with (empty: free). `InputError` for ids that are no
        text, or more of them than the output may have.
    sentence_ids: what sampling is seeded by, together with `config.seed`; numbers from 0, by default the
        place in the batch.
    banned: ids that never occur in output; by default `banned_ids(config)`.
    watch: is shown the candidates of each step of a beam search, and may name sentences to leave it.
    """
    sentences = len(source)
    for name, given in (("prefixes", prefixes), ("sentence ids", sentence_ids)):
        if given is not None and len(given) != sentences:
            raise InputError(f"{len(given)} {name} for {sentences} sentences: expected one for each")
    if not sentences:
        return []
    with evaluating(model), torch.inference_mode():
        limits = Limits.of(source, lengths, config.max_extra, model.max_positions)
        constraints = Constraints(
            config,
            vocabulary=model.vocabulary,
            banned=banned_ids(config) if banned is None else banned,
            prefixes=prefixes,
            limits=limits,
            device=source.device,
        )
        memory = model.encode(source, lengths)
        if config.sample:
            ids = range(sentences) if sentence_ids is None else sentence_ids
            return sample(model, memory, limits, config, constraints, source.device, ids)
        return beam_search(model, memory, limits, config, constraints, source.device, watch)


@contextmanager
def evaluating(model: StepModel | nn.Module) -> Iterator[None]:
    """Dropout off inside; afterwards each module is in the mode in which it was."""
    # A model that was loaded to be used is in this mode already; going through its modules takes as long as a step.
    module = model if isinstance(model, nn.Module) and model.training else None
    modes = [] if module is None else [(m, m.training) for m in module.modules()]
    try:
        if module is not None:
            module.eval()
        yield
    finally:
        for part, mode in modes:
            part.training = mode
