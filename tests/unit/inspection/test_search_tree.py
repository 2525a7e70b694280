"""The tree holds every candidate of the real search, and what became of it."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import numpy as np
import pytest
import torch

from tests.support.table_model import BANNED, TableModel
from tests.unit.search.judge import lp, run, sentences, token_log_probs
from transduce.data.batch import Stream
from transduce.inspection.search_tree import Fate, Grower, SearchTree
from transduce.search import DecodingConfig, Hypothesis, search
from transduce.search.watching import Step
from transduce.text.specials import EOS

SOURCE = [7, 3, 9, EOS]


def grown(model: TableModel, source: list[int], **settings: object) -> tuple[SearchTree, list[Hypothesis]]:
    config = DecodingConfig(**settings)  # type: ignore[arg-type]
    grower = Grower()
    stream = Stream.pad([source])
    (found,) = search(model, stream.ids, stream.lengths, config, banned=BANNED, watch=grower)
    return grower.tree(found, beam=config.beam, length_penalty=config.length_penalty), found


@pytest.mark.parametrize("beam", [1, 3, 5])
def test_every_candidate_has_its_numbers(beam: int) -> None:
    model = TableModel(11, seed=2)
    tree, _ = grown(model, SOURCE, beam=beam, max_extra=3)
    assert (tree.beam, tree.length_penalty) == (beam, 0.6)
    assert [c.number for c in tree.candidates] == list(range(1, len(tree.candidates) + 1))
    for c in tree.candidates:
        path = tree.path(c.number)
        expected = token_log_probs(model, SOURCE, [p.token for p in path])
        assert c.step == len(path) and path[-1] == c
        assert c.log_probability == pytest.approx(expected[-1], abs=1e-6)
        assert c.total == pytest.approx(sum(expected), abs=1e-5)
        assert c.penalty == pytest.approx(lp(c.step, 0.6, "gnmt"))
        assert c.score == c.total / c.penalty
        assert c in tree.children(c.parent)
        # Only what lived on goes on.
        assert all(p.fate == "lives" for p in path[:-1])
    steps = Counter(c.step for c in tree.candidates)
    assert steps[1] == min(beam + 1, 9) and max(steps.values()) <= beam * (beam + 1)


def test_what_is_watched_is_not_changed() -> None:
    given = sentences(17, 9)
    for beam in (1, 4):
        for source in given:
            expected = run(TableModel(11, seed=3), [source], beam=beam, nbest=beam, max_extra=5)[0]
            assert grown(TableModel(11, seed=3), source, beam=beam, nbest=beam, max_extra=5)[1] == expected


@pytest.mark.parametrize(("beam", "nbest"), [(1, 1), (4, 1), (4, 4)])
def test_fates(beam: int, nbest: int) -> None:
    """By the rules of the search, applied once more to the candidates themselves."""
    seen: Counter[str] = Counter()
    for seed, source in enumerate(sentences(23, 5)):
        tree, found = grown(TableModel(7, seed=seed, scale=1.0), source, beam=beam, nbest=nbest, max_extra=1)
        limit, last = len(source) - 1 + 1, max(c.step for c in tree.candidates)
        for step in range(1, last + 1):
            of_step = [c for c in tree.candidates if c.step == step]
            assert [c.total for c in of_step] == sorted((c.total for c in of_step), reverse=True)
            living = [c for c in of_step if c.token != EOS][:beam]
            for i, c in enumerate(of_step):
                if c.token == EOS:
                    assert c.fate == ("finished" if i < beam else "beam")
                elif c not in living:
                    assert c.fate == "beam"
                elif step > limit:
                    assert c.fate == "length"
                else:
                    assert c.fate == ("lives" if step < last else "stopped")
                seen[c.fate] += 1
        results = tree.results()
        assert [c.rank for c in results] == list(range(1, len(found) + 1))
        for c, hypothesis in zip(results, found, strict=True):
            ids = tuple(p.token for p in tree.path(c.number))
            assert ids == (*hypothesis.ids, EOS) if hypothesis.finished else ids == hypothesis.ids
            assert c.total == pytest.approx(hypothesis.log_probability) and c.score == pytest.approx(hypothesis.score)
    assert set(seen) == set(get_args(Fate))


def test_an_output_that_was_cut_ends_at_a_candidate_too() -> None:
    tree, (best,) = grown(TableModel(11, ends=False), [3, 4, EOS], beam=2, max_extra=1)
    (result,) = tree.results()
    assert not best.finished and len(best.ids) == 3
    assert [c.token for c in tree.path(result.number)] == list(best.ids)


def test_a_batch_is_watched_sentence_by_sentence() -> None:
    """Each candidate names its sentence, and the candidates of a sentence are those that it has alone."""
    given = sentences(5, 7)
    seen: list[Step] = []
    stream = Stream.pad(given)
    config = DecodingConfig(beam=3, max_extra=2)
    search(TableModel(11, seed=4), stream.ids, stream.lengths, config, banned=BANNED, watch=seen.append)
    for i, source in enumerate(given):
        tree, _ = grown(TableModel(11, seed=4), source, beam=3, max_extra=2)
        together = [token for step in seen for token in step.tokens[step.sentences == i].tolist()]
        assert together == [c.token for c in tree.candidates]


def test_tokens_that_are_not_possible_are_no_candidates() -> None:
    model = TableModel(5)
    stream = Stream.pad([[3, EOS]])
    seen: list[Step] = []
    search(model, stream.ids, stream.lengths, DecodingConfig(), prefixes=[[4]], banned=BANNED, watch=seen.append)
    np.testing.assert_array_equal(seen[0].tokens, [4])
    assert all(torch.isfinite(torch.from_numpy(step.log_probs)).all() for step in seen)
