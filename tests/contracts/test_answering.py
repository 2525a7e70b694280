"""Models that answer a question about the sentences before it: what holds for all of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from tests.contracts.variations import BATCH, SOURCE, SOURCE_VOCABULARY, Variation, close, having, random_text
from transduce.data.batch import Stream
from transduce.layers.tap import record
from transduce.models.contract import Answerer
from transduce.run_folder import load_weights, write_snapshot
from transduce.search import DecodingConfig
from transduce.search.ensemble import AnswererEnsemble
from transduce.tasks import Answer
from transduce.text.specials import PAD, RESERVED
from transduce.text.vocabulary import FULL_STOP_ID

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


@pytest.fixture(params=having("answerer"), ids=lambda v: v.name)
def variation(request: pytest.FixtureRequest) -> Variation:
    return request.param


@pytest.fixture
def model(variation: Variation) -> Answerer:
    return variation.build()


def story(*lengths: int) -> list[int]:
    """Sentences of so many words and a full stop, and a question of the last number of words."""
    ids: list[int] = []
    for n in lengths:
        ids += [1 + id for id in random_text(SOURCE_VOCABULARY - 1, n)] + [FULL_STOP_ID]
    return ids[:-1]


def stories() -> list[list[int]]:
    return [story(3, 2, 3), story(2), story(1, 5)]


def test_there_is_one_output_for_all_of_it(model: Answerer) -> None:
    given = Stream.pad(stories())
    assert given.ids.shape == (BATCH, 10)
    assert model.hidden(given.ids, given.lengths).shape == (BATCH, model.d_model)
    assert model(given.ids, given.lengths).shape == (BATCH, model.vocabulary)


def test_batch_mates_do_not_matter(model: Answerer) -> None:
    rows = stories()
    given = Stream.pad(rows)
    alone = [model(torch.tensor([row]), torch.tensor([len(row)])) for row in rows]
    close(model(given.ids, given.lengths), torch.cat(alone))


def test_case_109_padding_changes_nothing_whatever_stands_in_it(model: Answerer) -> None:
    given = Stream.pad(stories())
    expected = model(given.ids, given.lengths)
    for pad, value in ((1, PAD), (SOURCE, PAD), (5, FULL_STOP_ID), (7, RESERVED + 3)):
        close(model(F.pad(given.ids, (0, pad), value=value), given.lengths), expected)


def loss_and_gradients(model: Answerer, sources: list[list[int]], targets: list[list[int]]) -> tuple[torch.Tensor, ...]:
    model.zero_grad()
    loss = Answer().loss(model, Answer().batch(sources, targets, range(len(sources))), smoothing=0.1)
    loss.backward()
    return loss.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)


def test_case_67_an_empty_row_adds_nothing(model: Answerer) -> None:
    sources, targets = stories(), [[RESERVED + i] for i in range(BATCH)]
    without = loss_and_gradients(model.train(), sources, targets)
    with_it = loss_and_gradients(model, [*sources, []], [*targets, []])
    assert len(with_it) == len(without) == 1 + len(list(model.parameters()))
    for a, b in zip(with_it, without, strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert model(torch.zeros(2, 0, dtype=torch.int64), torch.tensor([0, 0])).isfinite().all()


def test_recorded_equals_unrecorded_and_whatever_is_replaced_changes_the_output(model: Answerer) -> None:
    given = Stream.pad(stories())
    model.double()
    expected = model(given.ids, given.lengths)
    heard: list[str] = []

    def look(name: str, value: torch.Tensor) -> torch.Tensor:
        heard.append(name)
        return value

    with record(look):
        assert torch.equal(model(given.ids, given.lengths), expected)
    assert "logits" in heard and len(heard) > 4 and set(Counter(heard).values()) == {1}
    for place in heard:
        with record(lambda name, value, place=place: torch.zeros_like(value) if name == place else value):  # type: ignore[misc]
            replaced = model(given.ids, given.lengths)
        assert (replaced - expected).abs().max() > 1e-9, place


def test_saved_and_loaded_model_gives_equal_outputs(model: Answerer, variation: Variation, tmp_path: Path) -> None:
    snapshot = write_snapshot(tmp_path / "step-7", {"weights": dict(model.named_parameters())}, {})
    other = variation.build()
    given = Stream.pad(stories())
    expected = model(given.ids, given.lengths)
    assert not torch.equal(other(given.ids, given.lengths), expected)
    load_weights(other, snapshot)
    assert torch.equal(other(given.ids, given.lengths), expected)


def test_case_104_case_107_batch_mates_change_no_answer(model: Answerer) -> None:
    sources = [story(*lengths) for lengths in ((3, 2, 3), (1,), (7, 1, 1, 2), (2, 5), (11, 2))]
    together = Answer().decode(model, [*sources, []], DecodingConfig(nbest=3), batch_tokens=23)
    assert [h.ids for h in together[-1]] == [()]
    for source, found in zip(sources, together, strict=False):
        (alone,) = Answer().decode(model, [source], DecodingConfig(nbest=3))
        assert [h.ids for h in alone] == [h.ids for h in found] and len({h.ids for h in found}) == 3
        assert [h.score for h in alone] == pytest.approx([h.score for h in found], abs=1e-4)
        assert found[0].score >= found[1].score >= found[2].score
        row = Answer().batch([source], [found[0].ids], [0])
        assert Answer().token_log_probabilities(model, row) == [[pytest.approx(found[0].score, abs=1e-5)]]


def test_an_ensemble_has_the_mean_of_its_members_probabilities(variation: Variation) -> None:
    members = [variation.build() for _ in range(2)]
    given = Stream.pad(stories())
    mean = sum(m(given.ids, given.lengths).softmax(1) for m in members) / 2
    both = Answer().ensemble(members)
    assert isinstance(both, AnswererEnsemble)
    torch.testing.assert_close(both(given.ids, given.lengths).exp(), mean)
