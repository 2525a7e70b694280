"""Decoding as the paper does it: fact 19 (paper 6.1)."""

from __future__ import annotations

import pytest
import torch

from tests.support.table_model import BANNED, TableModel
from transduce.search import DecodingConfig, Hypothesis, search
from transduce.text.specials import EOS

PAPER = DecodingConfig()
SOURCE = [5, 3, 7]


def decode(model: TableModel, config: DecodingConfig, *, source: list[int] = SOURCE) -> list[Hypothesis]:
    ids = torch.tensor([[*source, EOS]])
    (found,) = search(model, ids, torch.tensor([len(source) + 1]), config, banned=BANNED)
    return found


def test_fact_19_defaults() -> None:
    assert PAPER.beam == 4
    assert (PAPER.length_penalty, PAPER.length_penalty_form) == (0.6, "gnmt")
    assert PAPER.max_extra == 50
    assert PAPER.early_stop and not PAPER.sample


def test_fact_19_four_hypotheses_are_followed() -> None:
    model = TableModel(11, ends=False)
    decode(model, PAPER)
    assert model.stepped[:3] == [1, 4, 4] and set(model.stepped[1:]) == {4}


def test_fact_19_length_penalty_of_gnmt() -> None:
    lengths = set()
    for seed in range(7):
        for h in decode(TableModel(11, seed=seed), PAPER.model_copy(update={"nbest": 4})):
            length = len(h.ids) + 1  # The end mark counts.
            assert h.score == pytest.approx(h.log_probability / ((5 + length) ** 0.6 / (5 + 1) ** 0.6), abs=1e-9)
            lengths.add(length)
    assert len(lengths) > 2


@pytest.mark.parametrize("tokens", [1, 3, 17])
def test_fact_19_output_is_at_most_50_tokens_longer_than_the_input(tokens: int) -> None:
    (h,) = decode(TableModel(11, ends=False), PAPER, source=[3] * tokens)
    assert len(h.ids) == tokens + 50 and not h.finished


def test_fact_19_search_stops_early_when_nothing_better_can_come() -> None:
    to_the_end = PAPER.model_copy(update={"early_stop": False})
    for seed in range(7):
        early, full = TableModel(11, seed=seed), TableModel(11, seed=seed)
        assert decode(early, PAPER) == decode(full, to_the_end)
        assert len(early.stepped) < len(full.stepped) == 3 + 50 + 1
