"""What came before: a recurrent state knows the order of words (fact 22), attention weighs its places (fact 21)."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch import Tensor

from transduce.layers.additive_attention import Score
from transduce.layers.recurrent import Cell
from transduce.layers.tap import record
from transduce.models import FeedForwardConfig, RnnConfig, RnnSearchConfig, Seq2SeqConfig
from transduce.text.specials import BOS, RESERVED

POISON = [RESERVED + i for i in range(5)]  # 水 是 有毒 的 。
REORDERED = [POISON[i] for i in (2, 3, 1, 0, 4)]  # 有毒 的 是 水 。


@pytest.mark.parametrize("cell", get_args(Cell))
def test_fact_22_a_mean_of_word_vectors_forgets_the_order_and_the_last_state_does_not(cell: Cell) -> None:
    model = Seq2SeqConfig(cell=cell, layers=1, d_model=17).build(37, 37)
    ids = torch.tensor([POISON, REORDERED])
    means = model.source_embedding(ids).mean(1)
    torch.testing.assert_close(means[0], means[1], rtol=0, atol=1e-6)
    last = model.encode(ids, torch.tensor([5, 5])).context
    assert (last[0] - last[1]).abs().max() > 0.1


def outputs(config: FeedForwardConfig | RnnConfig) -> Tensor:
    """Probabilities [2 5 v] at each place of the two sentences."""
    return config.build(37, 41).eval()(torch.tensor([POISON, REORDERED]), torch.tensor([5, 5])).softmax(-1).detach()


def test_fact_22_averaged_input_writes_the_same_for_any_order_and_at_any_place() -> None:
    p = outputs(FeedForwardConfig(input="mean", d_model=17, d_ff=29))
    torch.testing.assert_close(p[0], p[1], rtol=0, atol=1e-6)
    torch.testing.assert_close(p, p[:, :1].expand_as(p), rtol=0, atol=0)


def test_fact_22_concatenated_input_tells_the_two_orders_apart() -> None:
    p = outputs(FeedForwardConfig(input="concat", d_model=17, d_ff=29, max_positions=7))
    assert ((p[0] - p[1]).abs().amax(1) > 1e-3).all()


@pytest.mark.parametrize("cell", get_args(Cell))
def test_fact_22_a_recurrent_networks_last_output_tells_the_two_orders_apart(cell: Cell) -> None:
    p = outputs(RnnConfig(cell=cell, d_model=17))
    assert (p[0, 4] - p[1, 4]).abs().max() > 1e-3


@pytest.mark.parametrize("score", get_args(Score))
def test_fact_21_each_words_context_is_a_mean_of_the_states_weighted_by_attention(score: Score) -> None:
    model = RnnSearchConfig(d_model=26, attention=score).build(37, 37)
    source = torch.randint(RESERVED, 37, (3, 11))
    previous = torch.full((3, 7), BOS)
    previous[:, 1:] = torch.randint(RESERVED, 37, (3, 6))
    seen: dict[str, list[Tensor]] = {}

    def listen(name: str, value: Tensor) -> Tensor:
        seen.setdefault(name, []).append(value)
        return value

    with record(listen):
        model(source, torch.tensor([11, 5, 2]), previous)
    (h,) = seen["encoder.0.output"]
    weights, contexts = seen["decoder.cross.weights"], seen["decoder.cross.context"]
    assert len(weights) == len(contexts) == 7
    for alpha, context in zip(weights, contexts, strict=True):
        assert alpha.shape == (3, 1, 1, 11) and (alpha >= 0).all()
        torch.testing.assert_close(alpha.sum(-1), torch.ones(3, 1, 1), rtol=0, atol=1e-6)
        expected = sum(alpha[:, 0, 0, j, None] * h[:, j] for j in range(11))
        torch.testing.assert_close(context[:, 0], expected, rtol=0, atol=1e-6)
