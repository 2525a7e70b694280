"""Sampling: the distribution, its cuts, and what decides the draws."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from tests.support.table_model import TableModel
from tests.unit.search.judge import greedy, run, sentences
from transduce.search import DecodingConfig
from transduce.search.sampling import draw
from transduce.text.specials import EOS

LOG_PROBS = torch.tensor([0.0, 0.1, 0.4, 0.2, 0.3]).log()


def drawn(**settings: object) -> list[float]:
    """How often each of the five tokens is drawn, for 10,000 evenly spaced uniform numbers."""
    uniform = torch.arange(10_000) / 10_000
    config = DecodingConfig(sample=True, **settings)  # type: ignore[arg-type]
    tokens = draw(LOG_PROBS.expand(10_000, 5), uniform, config).tolist()
    return [Counter(tokens)[i] / 10_000 for i in range(5)]


def test_the_models_distribution() -> None:
    assert drawn() == pytest.approx([0, 0.1, 0.4, 0.2, 0.3], abs=1e-3)


def test_temperature_sharpens() -> None:
    # p^2 of 0.1, 0.4, 0.2, 0.3 over their sum, 0.3
    assert drawn(temperature=0.5) == pytest.approx([0, 0.01 / 0.3, 0.16 / 0.3, 0.04 / 0.3, 0.09 / 0.3], abs=1e-3)
    assert drawn(temperature=1e-40) == [0, 0, 1, 0, 0]


def test_top_k() -> None:
    assert drawn(top_k=2) == pytest.approx([0, 0, 4 / 7, 0, 3 / 7], abs=1e-3)
    assert drawn(top_k=1) == [0, 0, 1, 0, 0]
    assert drawn(top_k=99) == drawn(top_p=1.0, top_k=5) == pytest.approx(drawn(), abs=1e-3)


def test_top_p() -> None:
    assert drawn(top_p=0.69) == pytest.approx([0, 0, 4 / 7, 0, 3 / 7], abs=1e-3)
    assert drawn(top_p=0.71) == pytest.approx([0, 0, 4 / 9, 2 / 9, 3 / 9], abs=1e-3)
    assert drawn(top_p=1e-9) == drawn(top_p=1e-320) == [0, 0, 1, 0, 0]
    # top_p looks at what top_k left: 4/7 of it is enough for 0.5
    assert drawn(top_p=0.5, top_k=2) == [0, 0, 1, 0, 0]


def test_the_greatest_uniform_number_draws_a_possible_token() -> None:
    logits = torch.randn(10_007, 7, generator=torch.Generator().manual_seed(0))
    logits[:, 3:] = -torch.inf
    for uniform in (0.0, 1 - 2**-24):
        tokens = draw(logits, torch.full((10_007,), uniform), DecodingConfig(sample=True))
        assert tokens.unique().tolist() == [2 if uniform else 0]


def test_top_k_of_one_is_greedy() -> None:
    model = TableModel(11, seed=1)
    for source in sentences(13, 7):
        for h in run(model, [source], sample=True, top_k=1, nbest=2)[0]:
            assert (list(h.ids), h.finished) == greedy(model, source, len(source) - 1 + 50)


def test_batch_mates_do_not_matter() -> None:
    model = TableModel(11, seed=2)
    sources, ids = sentences(23, 17), [100 + 7 * i for i in range(23)]
    for settings in ({}, {"top_k": 5}, {"top_p": 0.8, "temperature": 1.5}):
        alone = run(model, sources, batch=1, sample=True, nbest=3, sentence_ids=ids, **settings)
        for batch in (2, 7, 23):
            assert run(model, sources, batch=batch, sample=True, nbest=3, sentence_ids=ids, **settings) == alone


def test_seed_sentence_and_sample_decide() -> None:
    model = TableModel(11, seed=3)
    source = [5, 6, 7, EOS]

    def outputs(**settings: object) -> list[list[tuple[int, ...]]]:
        return [[h.ids for h in hs] for hs in run(model, [source] * 2, sample=True, nbest=4, **settings)]

    first = outputs(seed=1)
    assert first == outputs(seed=1) != outputs(seed=2)
    assert first[0] != first[1]
    assert outputs(seed=1, sentence_ids=[5, 5])[0] == outputs(seed=1, sentence_ids=[5, 6])[0]
    assert len(set(first[0])) > 1


def test_nbest_samples_best_first_within_limits() -> None:
    model = TableModel(11, seed=4, max_positions=7)
    found = run(model, sentences(11, 5), sample=True, nbest=13, beam=1, max_extra=3)
    assert all(len(hs) == 13 for hs in found)
    for hs in found:
        assert [h.score for h in hs] == sorted((h.score for h in hs), reverse=True)
        assert all(len(h.ids) + h.finished <= 7 for h in hs)
    assert {h.finished for hs in found for h in hs} == {True, False}


def test_samples_follow_the_model() -> None:
    # One context for every prefix: the end mark has probability 1/2, so half of all outputs are empty.
    model = TableModel(5, contexts=1)
    model.table[:] = torch.tensor([0, 0, 0.5, 0.25, 0.25]).log()
    found = run(model, [[3, EOS]], sample=True, nbest=2000)[0]
    empty = sum(h.ids == () for h in found) / 2000
    assert empty == pytest.approx(0.5, abs=0.04)
