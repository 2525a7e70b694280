"""What is told while a search goes on is never taken back."""

from __future__ import annotations

import pytest
import torch

from tests.support.table_model import BANNED, TableModel
from transduce.search.config import DecodingConfig
from transduce.search.decoding import search
from transduce.search.hypothesis import Hypothesis
from transduce.search.watching import Step
from transduce.serving.settled import Ids, Settled, common

SOURCES = torch.tensor([[3, 4, 5, 2], [4, 4, 2, 0], [5, 3, 3, 2]])
LENGTHS = torch.tensor([4, 3, 4])


def found(beam: int, nbest: int, seed: int, watch: Settled, scale: float = 1.5) -> list[list[Hypothesis]]:
    model = TableModel(7, seed=seed, scale=scale)
    config = DecodingConfig(beam=beam, nbest=nbest, max_extra=6)
    return search(model, SOURCES, LENGTHS, config, banned=BANNED, watch=watch)


@pytest.mark.parametrize(("beam", "nbest"), [(1, 1), (2, 1), (3, 3), (5, 2)])
@pytest.mark.parametrize("seed", range(11))
def test_what_was_told_is_how_the_best_output_begins(beam: int, nbest: int, seed: int) -> None:
    told: dict[int, list[Ids]] = {0: [], 2: []}
    best = found(beam, nbest, seed, Settled([told[0].append, None, told[2].append]))
    for sentence, beginnings in told.items():
        assert [len(ids) for ids in beginnings] == sorted({len(ids) for ids in beginnings})
        for ids in beginnings:
            assert best[sentence][0].ids[: len(ids)] == ids
        if beam == 1:
            # Each token as it is chosen; the last one may be known from the result only.
            assert [len(ids) for ids in beginnings] == list(range(1, len(beginnings) + 1))
            assert len(beginnings) >= len(best[sentence][0].ids) - 1


def test_something_is_told_before_the_end() -> None:
    told: list[Ids] = []
    for seed in range(11):
        found(4, 1, seed, Settled([told.append, told.append, told.append]), scale=7.0)
    assert len(told) > 11


def test_common() -> None:
    assert common([(1, 2, 3), (1, 2, 5), (1, 2)]) == (1, 2)
    assert common([(1,), (2,)]) == () and common([(7, 8)]) == (7, 8)


def test_a_sentence_that_nobody_waits_for_leaves_the_search() -> None:
    model, alone = TableModel(7, seed=3, ends=False), TableModel(7, seed=3, ends=False)
    config = DecodingConfig(beam=2, max_extra=9)

    def leaving(step: Step) -> list[int]:
        return [1] if len(model.stepped) == 3 else []

    rest = search(model, SOURCES, LENGTHS, config, banned=BANNED, watch=leaving)
    whole = search(alone, SOURCES, LENGTHS, config, banned=BANNED)
    assert (rest[0], rest[2]) == (whole[0], whole[2])
    assert len(rest[1][0].ids) == 3 and not rest[1][0].finished
    # Three sentences of two hypotheses, then two.
    assert model.stepped[:4] == [3, 6, 6, 4] and set(model.stepped[3:]) == {4}
