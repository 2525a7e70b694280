"""Bans, forced prefixes and their combinations."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.table_model import TableModel
from tests.unit.search.judge import brute_force, run, sentences, token_log_probs
from transduce.data.batch import Stream
from transduce.search import DecodingConfig, banned_ids, search
from transduce.search.constraints import repeats
from transduce.text.specials import EOS, PAD, RESERVED, UNK


def test_banned_ids_are_every_special_but_the_end_mark() -> None:
    assert set(banned_ids(DecodingConfig())) == set(range(RESERVED)) - {EOS}
    for unknown in ("mark", "copy"):
        assert set(banned_ids(DecodingConfig(unknown=unknown))) == set(range(RESERVED)) - {EOS, UNK}


@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 4, "nbest": 4}, {"sample": True, "nbest": 4}])
def test_case_119_default_bans(settings: dict[str, int]) -> None:
    model = TableModel(RESERVED + 5, seed=1)
    stream = Stream.pad(sentences(11, 7))
    seen = {
        i
        for unknown in ("avoid", "mark")
        for hs in search(model, stream.ids, stream.lengths, DecodingConfig(unknown=unknown, **settings))
        for h in hs
        for i in h.ids
        if unknown == "avoid" or i != UNK
    }
    assert seen and min(seen) >= RESERVED


@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 3, "nbest": 3}, {"sample": True, "nbest": 3}])
def test_minimum_length(settings: dict[str, int]) -> None:
    model = TableModel(7, seed=2)
    model.table[:, EOS] += 3.0
    sources = sentences(11, 5)
    assert min(len(h.ids) for hs in run(model, sources, **settings) for h in hs) < 4
    found = run(model, sources, min_length=4, **settings)
    assert min(len(h.ids) for hs in found for h in hs) == 4
    assert all(h.finished for hs in found for h in hs)


def test_minimum_length_yields_to_the_greatest() -> None:
    (h,) = run(TableModel(7), [[3, 4, EOS]], min_length=9, max_extra=1)[0]
    assert len(h.ids) == 3 and not h.finished


def test_minimum_length_agrees_with_brute_force() -> None:
    model = TableModel(5, seed=3)
    judged = [ids for _, ids in brute_force(model, [4, EOS], (3, 4), 4, 0.6) if len(ids) >= 2]
    found = run(model, [[4, EOS]], beam=64, nbest=64, max_extra=3, min_length=2)[0]
    assert [h.ids for h in found] == judged


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 3, "nbest": 3}, {"sample": True, "nbest": 3}])
def test_no_ngram_twice(size: int, settings: dict[str, int]) -> None:
    model = TableModel(7, seed=4)
    model.table[:, EOS] -= 2.0

    def repeated(ids: tuple[int, ...]) -> bool:
        ngrams = [ids[i : i + size] for i in range(len(ids) - size + 1)]
        return len(set(ngrams)) < len(ngrams)

    sources = sentences(11, 13)
    assert any(repeated(h.ids) for hs in run(model, sources, **settings) for h in hs)
    found = run(model, sources, no_repeat_ngram=size, **settings)
    assert not any(repeated(h.ids) for hs in found for h in hs)


def test_repeats_by_hand() -> None:
    tokens = np.array([[3, 4, 5, 3, 4], [3, 3, 3, 3, 3], [3, 4, 5, 6, 7]])
    for size, expected in (
        (1, {(0, 3), (0, 4), (0, 5), (1, 3), (2, 3), (2, 4), (2, 5), (2, 6), (2, 7)}),
        (2, {(0, 5), (1, 3)}),
        (3, {(0, 5), (1, 3)}),
        (5, {(1, 3)}),
        (6, set()),
    ):
        rows, ids = repeats(tokens, size)
        assert set(zip(rows.tolist(), ids.tolist(), strict=True)) == expected
    assert repeats(np.zeros((2, 0), np.int64), 1)[0].size == 0


def test_where_all_is_banned_the_end_mark_is_allowed() -> None:
    # Two words, each once: after them nothing is left, though the minimum length asks for more.
    for settings in ({"beam": 1}, {"beam": 4, "nbest": 2}, {"sample": True}):
        for h in run(TableModel(5, seed=5), [[3, 3, 3, EOS]], no_repeat_ngram=1, min_length=3, **settings)[0]:
            assert sorted(h.ids) == [3, 4] and h.finished


def test_where_nothing_at_all_is_possible_output_is_truncated() -> None:
    for settings in ({"beam": 1}, {"beam": 4}, {"sample": True}):
        (h,) = run(TableModel(5, ends=False), [[3, 3, 3, EOS]], no_repeat_ngram=1, **settings)[0]
        assert sorted(h.ids) == [3, 4] and not h.finished


@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 5, "nbest": 3}, {"sample": True, "nbest": 3}])
def test_forced_prefix_has_the_models_log_probabilities(settings: dict[str, int]) -> None:
    model = TableModel(11, seed=6)
    sources = sentences(7, 5)
    prefixes = [[3 + i % 5] * (i % 4) for i in range(7)]
    found = run(model, sources, prefixes=prefixes, **settings)
    for source, prefix, hs in zip(sources, prefixes, found, strict=True):
        assert len({h.ids for h in hs}) > 1 or len(hs) == 1 or "sample" in settings
        for h in hs:
            assert list(h.ids[: len(prefix)]) == prefix
            expected = token_log_probs(model, source, (*h.ids, *([EOS] if h.finished else [])))
            assert h.token_log_probabilities == pytest.approx(expected, abs=1e-6)
    assert found == run(model, sources, batch=1, prefixes=prefixes, sentence_ids=list(range(7)), **settings)


def test_forced_prefix_agrees_with_brute_force() -> None:
    model = TableModel(5, seed=7)
    judged = [ids for _, ids in brute_force(model, [4, EOS], (3, 4), 4, 0.6) if ids[:2] == (4, 3)]
    found = run(model, [[4, EOS]], beam=64, nbest=64, max_extra=3, prefixes=[[4, 3]])[0]
    assert [h.ids for h in found] == judged


def test_forced_prefix_overrules_bans() -> None:
    model = TableModel(7, seed=8)
    prefix = [UNK, 4, 4, 4]
    banned = (PAD, 1, UNK)
    (h,) = run(model, [[3, 3, EOS]], prefixes=[prefix], no_repeat_ngram=1, banned=banned)[0]
    assert list(h.ids[:4]) == prefix and UNK not in h.ids[4:] and 4 not in h.ids[4:]


@pytest.mark.parametrize("token", [EOS, PAD, -1, 7])
def test_forced_prefix_of_no_text_is_refused(token: int) -> None:
    with pytest.raises(ValueError, match=f"sentence 1 contains id {token}"):
        run(TableModel(7), [[3, EOS], [4, EOS]], prefixes=[[], [3, token]])


def test_forced_prefix_above_the_limit_is_refused() -> None:
    run(TableModel(7), [[3, EOS]], prefixes=[[3, 4, 5]], max_extra=2)
    with pytest.raises(ValueError, match="4 tokens, but its output can have at most 3"):
        run(TableModel(7), [[3, EOS]], prefixes=[[3, 4, 5, 6]], max_extra=2)
    with pytest.raises(ValueError, match="3 tokens, but its output can have at most 2"):
        run(TableModel(7, max_positions=2), [[3, EOS]], prefixes=[[3, 4, 5]])


def test_one_prefix_and_one_id_for_each_sentence() -> None:
    source, lengths = torch.tensor([[3, EOS], [4, EOS]]), torch.tensor([2, 2])
    with pytest.raises(ValueError, match="1 prefixes for 2 sentences"):
        search(TableModel(7), source, lengths, DecodingConfig(), prefixes=[[3]])
    with pytest.raises(ValueError, match="3 sentence ids for 2 sentences"):
        search(TableModel(7), source, lengths, DecodingConfig(), sentence_ids=[0, 1, 2])
