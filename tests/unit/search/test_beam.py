"""Beam search against brute force and a greedy loop."""

from __future__ import annotations

import math

import pytest
import torch

from tests.support.table_model import BANNED, TableModel
from tests.unit.search.judge import brute_force, greedy, lp, run, sentences, token_log_probs
from transduce.data.batch import Stream
from transduce.errors import TransduceError
from transduce.search import DecodingConfig, Ensemble, search
from transduce.search.watching import Step
from transduce.text.specials import BOS, EOS, PAD, UNK

SOURCE = [5, 3, EOS]
TEXT = (3, 4)
"""Vocabulary 5: padding, start and end mark, two words."""


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("form", ["gnmt", "power"])
@pytest.mark.parametrize("alpha", [-1.0, 0.0, 0.6, 1.0, 2.0])
def test_case_113_case_115_case_116_wide_beam_finds_what_brute_force_finds(
    alpha: float, form: str, early_stop: bool
) -> None:
    for seed in range(7):
        model = TableModel(5, seed=seed)
        judged = brute_force(model, SOURCE, TEXT, 4, alpha, form)
        found = run(
            model, [SOURCE], beam=64, nbest=64, max_extra=2,
            length_penalty=alpha, length_penalty_form=form, early_stop=early_stop,
        )[0]  # fmt: skip
        assert [h.ids for h in found] == [ids for _, ids in judged]
        assert [h.score for h in found] == pytest.approx([score for score, _ in judged], abs=1e-5)
        assert all(h.finished and EOS not in h.ids for h in found)
        best = run(
            model, [SOURCE], beam=64, max_extra=2, length_penalty=alpha, length_penalty_form=form,
            early_stop=early_stop,
        )[0]  # fmt: skip
        assert [h.ids for h in best] == [judged[0][1]]


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 0.6, 2.0])
@pytest.mark.parametrize("nbest", [1, 3])
def test_case_113_early_stop_saves_steps_and_changes_nothing(alpha: float, nbest: int) -> None:
    sources = sentences(23, 13)
    stopped, full = TableModel(11, seed=1), TableModel(11, seed=1)
    settings = {"beam": 3, "nbest": nbest, "length_penalty": alpha, "max_extra": 37}
    assert run(stopped, sources, **settings) == run(full, sources, early_stop=False, **settings)
    # Alpha 2 favours length so much that the last step may always bring the best.
    assert alpha == 2.0 or sum(stopped.stepped) < sum(full.stepped)


def test_patience_stops_once_so_many_have_ended() -> None:
    """With a beam of 3, patience 2/3 waits for two ends."""
    sources = sentences(23, 13)
    watched: dict[float, list[list[int]]] = {}
    for patience in (2 / 3, 1, 2):
        model, ends = TableModel(11, seed=1), [[] for _ in sources]  # type: ignore[var-annotated]

        def watch(step: Step, ends: list[list[int]] = ends) -> None:
            for sentence in set(step.sentences.tolist()):
                ends[sentence].append(int(step.ends[step.sentences == sentence].sum()))

        stream = Stream.pad(sources)
        config = DecodingConfig(beam=3, max_extra=37, patience=patience, length_penalty=1, length_penalty_form="power")
        search(model, stream.ids, stream.lengths, config, banned=BANNED, watch=watch)
        watched[patience] = ends
        for counts in ends:
            assert sum(counts[:-1]) < patience * 3
    assert sum(sum(counts) >= 2 for counts in watched[2 / 3]) > 17, "most are stopped by it, not by anything else"
    steps = {patience: sum(map(len, ends)) for patience, ends in watched.items()}
    assert steps[2 / 3] < steps[1] < steps[2]


def test_scores_are_the_models_own() -> None:
    model = TableModel(11, seed=2)
    source = [7, 3, 9, EOS]
    for h in run(model, [source], beam=5, nbest=5)[0]:
        expected = token_log_probs(model, source, (*h.ids, EOS))
        assert h.token_log_probabilities == pytest.approx(expected, abs=1e-6)
        assert h.log_probability == pytest.approx(sum(expected), abs=1e-6)
        assert h.score == pytest.approx(h.log_probability / ((5 + len(h.ids) + 1) / 6) ** 0.6, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.6, 3.0])
def test_case_110_beam_of_one_is_greedy(alpha: float) -> None:
    model = TableModel(13, seed=3, scale=1.0)
    sources = sentences(200, 11)
    found = run(model, sources, beam=1, max_extra=5, length_penalty=alpha)
    ends = set()
    for source, (h,) in zip(sources, found, strict=True):
        assert (list(h.ids), h.finished) == greedy(model, source, len(source) - 1 + 5)
        ends.add(h.finished)
    assert ends == {True, False}


@pytest.mark.parametrize("beam", [1, 5])
def test_case_104_batch_mates_do_not_matter(beam: int) -> None:
    model = TableModel(13, seed=4)
    sources = sentences(50, 60)
    alone = run(model, sources, batch=1, beam=beam, nbest=beam)
    for batch in (2, 7, 50):
        assert run(model, sources, batch=batch, beam=beam, nbest=beam) == alone


def test_case_106_neither_does_a_large_batch() -> None:
    model = TableModel(13, seed=11)
    sources = sentences(1024, 5)
    assert run(model, sources, batch=8, beam=2) == run(model, sources, beam=2)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 3.0])
def test_case_112_length_penalty_does_not_count_padding(alpha: float) -> None:
    model = TableModel(7, seed=5)
    sources = [[*([3, 4, 5] * 7), EOS], [6, EOS]]
    settings = {"beam": 3, "nbest": 3, "length_penalty": alpha, "max_extra": 11}
    together = run(model, sources, **settings)
    assert together == run(model, sources, batch=1, **settings)
    for h in together[1]:
        assert h.score == pytest.approx(h.log_probability / lp(len(h.ids) + 1, alpha, "gnmt"))


def test_case_118_beam_above_vocabulary_returns_all_there_is() -> None:
    found = run(TableModel(6), [[3, EOS]], beam=50, nbest=50, max_extra=2, banned=(PAD, BOS, UNK))[0]
    ids = [h.ids for h in found]
    assert len(ids) == len(set(ids)) == 1 + 2 + 4 + 8


def test_case_119_no_special_in_any_hypothesis() -> None:
    model = TableModel(6, seed=6)
    model.table[:, [PAD, BOS, UNK]] += 9.0
    for alpha in (0.0, 1.0):
        found = run(model, sentences(7, 5), beam=6, nbest=6, length_penalty=alpha, banned=(PAD, BOS, UNK), max_extra=3)
        assert {i for hs in found for h in hs for i in h.ids} <= {4, 5}


def test_case_122_stops_at_the_last_position_and_says_so() -> None:
    for beam in (1, 4):
        (h,) = run(TableModel(11, max_positions=16, ends=False), [[3, 4, EOS]], beam=beam)[0]
        assert len(h.ids) == 16 and not h.finished
        assert len(h.token_log_probabilities) == 16
        assert h.score == pytest.approx(h.log_probability / lp(16, 0.6, "gnmt"))


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 0.6, 2.0])
@pytest.mark.parametrize("beam", [1, 2, 4])
def test_case_122_an_end_mark_that_only_the_limit_brought_is_told(beam: int, alpha: float) -> None:
    """The model is sure of another token at each step, and the end mark comes next: a beam of two or more takes it."""
    model = TableModel(11, seed=12)
    rows = torch.arange(len(model.table))
    model.table[rows, 3 + rows % 8] = 20.0
    model.table[:, EOS] = 10.0
    for (h,) in run(model, sentences(13, 5), beam=beam, max_extra=3, length_penalty=alpha):
        assert h.limited == h.finished == (beam > 1)


def test_case_122_an_output_that_ends_by_itself_is_not_called_limited() -> None:
    model = TableModel(11, seed=13)
    for beam in (1, 4):
        found = run(model, sentences(53, 5), beam=beam, nbest=beam, max_extra=50)
        assert {h.limited for hs in found for h in hs} == {False}
    # Exactly at the limit, and surely: two tokens, then the end mark.
    model.table[:] = 0.0
    model.table[:, EOS] = 9.0
    for h in run(model, [[3, EOS]], beam=3, nbest=3, max_extra=1, min_length=2)[0]:
        assert len(h.ids) == 2 and h.finished and not h.limited


@pytest.mark.parametrize("beam", range(1, 7))
def test_case_124_limit_at_the_tables_end(beam: int) -> None:
    source = [*([3] * 6), EOS]
    for ends in (True, False):
        for positions in (1, 15, 16, 17, 18):
            model = TableModel(11, max_positions=positions, ends=ends, scale=0.1)
            for h in run(model, [source], beam=beam, nbest=beam, max_extra=10)[0]:
                assert len(h.ids) + h.finished <= positions and len(h.ids) <= 16


def test_output_may_be_exactly_as_long_as_the_limit() -> None:
    # Three tokens of source and one extra: 4 tokens and the end mark is the longest, at step 5.
    model = TableModel(5, seed=0)
    model.table[:] = 0.0
    longest = max(len(h.ids) for h in run(model, [[3, 4, 3, EOS]], beam=40, nbest=40, max_extra=1)[0])
    assert longest == 4
    (h,) = run(TableModel(5, ends=False), [[3, 4, 3, EOS]], max_extra=1)[0]
    assert len(h.ids) == 4 and not h.finished


def test_source_without_end_mark_has_the_same_limit() -> None:
    model = TableModel(5, ends=False)
    (h,) = run(model, [[3, 4, 3]], max_extra=1)[0]
    assert len(h.ids) == 4


def test_truncated_only_where_nothing_finished() -> None:
    model = TableModel(11, seed=7, scale=1.0)
    found = run(model, sentences(53, 3), beam=2, nbest=2, max_extra=1)
    assert {h.finished for hs in found for h in hs} == {True, False}
    assert all(len({h.finished for h in hs}) == 1 for hs in found)


@pytest.mark.parametrize("beam", [1, 3])
def test_ties_go_to_the_lower_id(beam: int) -> None:
    model = TableModel(300, contexts=97)
    model.table[:] = 0.0
    model.table[:, EOS] = -9.0
    found = run(model, [[3, EOS], [5, 4, EOS]], beam=beam, nbest=beam, max_extra=0)
    assert [h.ids for h in found[0]] == [(3 + i,) for i in range(beam)]
    # All continuations are equal again: the lowest id first, after each of the hypotheses in their order.
    assert [h.ids for h in found[1]] == [(3 + i, 3) for i in range(beam)]


def test_encoder_runs_once_and_finished_sentences_leave() -> None:
    model = TableModel(11, seed=8)
    run(model, sentences(17, 11), beam=3)
    assert model.encoded == 17
    assert model.stepped[:2] == [17, 51]
    assert model.stepped[-1] < 17
    assert model.stepped[1:] == sorted(model.stepped[1:], reverse=True)


def test_case_94_dropout_is_off_in_search_and_the_mode_restored() -> None:
    model = TableModel(11, seed=9, dropout=0.5)
    quiet = run(TableModel(11, seed=9), sentences(5, 7))
    model.train()
    model.dropout.eval()
    for _ in range(3):
        assert run(model, sentences(5, 7)) == quiet
        assert model.training and not model.dropout.training
    model.dropout.train()
    assert run(Ensemble([model]), [[3, EOS]])[0][0].ids == run(model, [[3, EOS]])[0][0].ids
    assert model.dropout.training


def test_ensemble_of_one_table_is_that_table() -> None:
    model = TableModel(11, seed=10)
    alone, twice = run(model, sentences(7, 5)), run(Ensemble([model, model]), sentences(7, 5))
    assert [h.ids for (h,) in alone] == [h.ids for (h,) in twice]
    assert [h.score for (h,) in alone] == pytest.approx([h.score for (h,) in twice], abs=1e-4)


def test_ensemble_averages_probabilities() -> None:
    models = [TableModel(5, seed=s) for s in (1, 2, 3)]
    for h in run(Ensemble(models), [SOURCE], beam=9, nbest=9, max_extra=0)[0]:
        each = [token_log_probs(m, SOURCE, (*h.ids, EOS)) for m in models]
        expected = [math.log(sum(map(math.exp, column)) / 3) for column in zip(*each, strict=True)]
        assert h.token_log_probabilities == pytest.approx(expected, abs=1e-5)
    ensemble, source = Ensemble(models), torch.tensor([SOURCE])
    state = ensemble.start(ensemble.encode(source, torch.tensor([3])), 1)
    assert ensemble.step(torch.tensor([BOS]), state)[0].exp().sum().item() == pytest.approx(1.0)


def test_ensemble_takes_the_shortest_position_table_and_one_vocabulary() -> None:
    tables = [TableModel(5), TableModel(5, max_positions=7), TableModel(5, max_positions=11)]
    assert Ensemble(tables).max_positions == 7
    assert Ensemble(tables[:1]).max_positions is None
    with pytest.raises(ValueError, match="5, 7 tokens"):
        Ensemble([TableModel(5), TableModel(7)])
    with pytest.raises(ValueError, match="one or more"):
        Ensemble([])


def test_no_sentences_no_output() -> None:
    source, lengths = torch.zeros((0, 3), dtype=torch.int64), torch.zeros(0, dtype=torch.int64)
    assert search(TableModel(5), source, lengths, DecodingConfig()) == []


@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 3}, {"sample": True}])
def test_nan_is_an_error(settings: dict[str, int]) -> None:
    model = TableModel(5)
    model.table[:] = math.nan
    with pytest.raises(TransduceError, match="NaN"):
        run(model, [[3, EOS]], **settings)
