"""Models that write one output for each input: what holds for all of them, and what each can learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tests.contracts.variations import (
    BATCH,
    POSITIONS,
    SOURCE,
    SOURCE_VOCABULARY,
    Variation,
    close,
    example,
    having,
    random_text,
)
from transduce.data.batch import Stream
from transduce.errors import InputError
from transduce.layers.recurrent import Cell
from transduce.layers.tap import record
from transduce.models import FeedForwardConfig, ModelConfig, RnnConfig
from transduce.models.contract import Labeller
from transduce.run_folder import load_weights, write_snapshot
from transduce.search import DecodingConfig
from transduce.tasks import Label
from transduce.text.specials import EOS, PAD, RESERVED, UNK

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

NOTHING, SOMETHING = 1e-13, 1e-9

LABELLERS = having("labeller")
RECURRENT = [v for v in LABELLERS if v in having("recurrent")]
AT_ONE_GO = [v for v in LABELLERS if v not in RECURRENT]
LIMITED = [v for v in LABELLERS if v.build().max_positions is not None]


@pytest.fixture(params=LABELLERS, ids=lambda v: v.name)
def variation(request: pytest.FixtureRequest) -> Variation:
    return request.param


@pytest.fixture
def model(variation: Variation) -> Labeller:
    return variation.build()


def places(model: Labeller, source: Stream) -> list[Tensor]:
    """For each row the logits [n v] of its true places."""
    logits = model(source.ids, source.lengths)
    return [row[:n] for row, n in zip(logits, source.lengths.tolist(), strict=True)]


def alike(actual: list[Tensor], expected: list[Tensor]) -> None:
    close(torch.cat(actual), torch.cat(expected))


def test_there_is_an_output_for_each_input(model: Labeller) -> None:
    given = example(model).source
    assert given.ids.shape == (BATCH, SOURCE)
    assert model.hidden(given.ids, given.lengths).shape == (BATCH, SOURCE, model.d_model)
    assert model(given.ids, given.lengths).shape == (BATCH, SOURCE, model.vocabulary)


def test_batch_mates_do_not_matter(model: Labeller) -> None:
    given = example(model).source
    lengths = given.lengths.tolist()
    alone = [Stream(given.ids[i : i + 1, :n], given.lengths[i : i + 1]) for i, n in enumerate(lengths)]
    alike(places(model, given), [places(model, row)[0] for row in alone])


def test_case_109_padding_changes_nothing(model: Labeller) -> None:
    given = example(model, lengths=(5, 3)).source
    # The last is more than a limited input layer has room for. An encoder's positions are taken by padding too.
    for pad in (1, 11, *([] if "encoder" in model.capabilities else [POSITIONS])):
        wider = Stream(F.pad(given.ids, (0, pad), value=PAD), given.lengths)
        alike(places(model, wider), places(model, given))


def test_what_stands_in_the_padding_does_not_matter(model: Labeller) -> None:
    given = example(model).source
    hidden = torch.arange(SOURCE) >= given.lengths[:, None]
    other = torch.where(hidden, torch.randint(RESERVED, SOURCE_VOCABULARY, (BATCH, SOURCE)), given.ids)
    assert not torch.equal(other, given.ids)
    alike(places(model, Stream(other, given.lengths)), places(model, given))


def test_train_and_eval_mode_agree_without_dropout(model: Labeller) -> None:
    given = example(model).source
    alike(places(model.train(), given), places(model.eval(), given))


def loss_and_gradients(
    model: Labeller, sources: list[list[int]], targets: list[list[int]], recorded: bool
) -> tuple[Tensor, ...]:
    model.zero_grad()
    batch = Label().batch(sources, targets, range(len(sources)))
    if recorded:
        with record(lambda _, value: value):
            loss = Label().loss(model, batch, smoothing=0.1)
    else:
        loss = Label().loss(model, batch, smoothing=0.1)
    loss.backward()
    return loss.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("recorded", [False, True], ids=["fused", "explicit"])
def test_case_67_an_empty_row_adds_nothing(model: Labeller, recorded: bool) -> None:
    sources = [random_text(SOURCE_VOCABULARY, n) for n in (5, 3)]
    targets = [random_text(model.vocabulary, n) for n in (2, 4)]
    without = loss_and_gradients(model.train(), sources, targets, recorded)
    with_it = loss_and_gradients(model, [*sources, []], [*targets, [RESERVED]], recorded)
    assert len(with_it) == len(without) == 1 + len(list(model.parameters()))
    for a, b in zip(with_it, without, strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def with_another_token(source: Stream, place: int) -> Stream:
    ids = source.ids.clone()
    ids[:, place] = RESERVED + (ids[:, place] - RESERVED + 1) % (SOURCE_VOCABULARY - RESERVED)
    return Stream(ids, source.lengths)


@pytest.mark.parametrize("recurrent", RECURRENT, ids=lambda v: v.name)
def test_a_recurrent_output_hears_of_every_input_so_far_and_of_none_that_comes(recurrent: Variation) -> None:
    model = recurrent.build().double()
    given = example(model, lengths=(7, 7, 7)).source
    before = model(given.ids, given.lengths)
    for t in range(7):
        other = with_another_token(given, t)
        difference = (model(other.ids, other.lengths) - before).abs().amax(2)
        assert difference[:, :t].numel() == 0 or difference[:, :t].max() < NOTHING
        assert (difference[:, t:] > SOMETHING).all()


@pytest.mark.parametrize("at_one_go", AT_ONE_GO, ids=lambda v: v.name)
def test_in_a_feed_forward_network_every_input_reaches_every_output(at_one_go: Variation) -> None:
    model = at_one_go.build().double()
    given = example(model, lengths=(7, 7, 7)).source
    before = model(given.ids, given.lengths)
    for t in range(7):
        other = with_another_token(given, t)
        assert ((model(other.ids, other.lengths) - before).abs().amax(2) > SOMETHING).all()


def taps(run: Callable[[], object]) -> list[str]:
    seen: list[str] = []

    def look(name: str, value: Tensor) -> Tensor:
        seen.append(name)
        return value

    with record(look):
        run()
    return seen


def test_recorded_equals_unrecorded_and_each_place_has_one_name(model: Labeller) -> None:
    given = example(model, lengths=(SOURCE, 5, 0)).source
    expected = model(given.ids, given.lengths)
    with record(lambda _, value: value):
        recorded = places(model, given)
    alike(recorded, places(model, given))
    assert torch.equal(model(given.ids, given.lengths), expected)
    heard = Counter(taps(lambda: model(given.ids, given.lengths)))
    assert "logits" in heard and len(heard) > 2
    assert set(heard.values()) == ({1, SOURCE} if "recurrent" in model.capabilities else {1})


def test_whatever_a_recorder_replaces_changes_the_output(model: Labeller) -> None:
    given = example(model.double()).source
    expected = model(given.ids, given.lengths)
    for place in set(taps(lambda: model(given.ids, given.lengths))):

        def blank(name: str, value: Tensor, place: str = place) -> Tensor:
            return torch.zeros_like(value) if name == place else value

        with record(blank):
            replaced = model(given.ids, given.lengths)
        assert replaced.shape == expected.shape and (replaced - expected).abs().max() > SOMETHING, place


def test_saved_and_loaded_model_gives_equal_outputs(model: Labeller, variation: Variation, tmp_path: Path) -> None:
    snapshot = write_snapshot(tmp_path / "step-7", {"weights": dict(model.named_parameters())}, {})
    other = variation.build()
    given = example(model).source
    expected = model(given.ids, given.lengths)
    assert not torch.equal(other(given.ids, given.lengths), expected)
    load_weights(other, snapshot)
    assert torch.equal(other(given.ids, given.lengths), expected)
    tied = variation.config.needs_joint_vocabulary
    assert tied == (other.projection is other.source_embedding.weight)


@pytest.mark.parametrize("limited", LIMITED, ids=lambda v: v.name)
def test_case_124_the_last_place_is_usable_and_a_longer_sentence_is_refused_with_the_limit(limited: Variation) -> None:
    model = limited.build()
    whole, longer = (Stream.pad([random_text(SOURCE_VOCABULARY, n), [RESERVED]]) for n in (POSITIONS, POSITIONS + 1))
    assert model(whole.ids, whole.lengths).isfinite().all()
    with pytest.raises(InputError, match=f"{POSITIONS + 1} tokens is longer than the {POSITIONS} (learned|that the)"):
        model(longer.ids, longer.lengths)


@pytest.mark.parametrize("unlimited", [v for v in LABELLERS if v not in LIMITED], ids=lambda v: v.name)
def test_models_without_a_limit_label_long_sequences(unlimited: Variation) -> None:
    model = unlimited.build()
    (found,) = Label().decode(model, [random_text(SOURCE_VOCABULARY, 307)], DecodingConfig())
    assert found[0].finished and len(found[0].token_log_probabilities) <= 307


# Decoding


def decode(model: Labeller, sources: list[list[int]], **settings: str) -> list[tuple[int, ...]]:
    return [h.ids for (h,) in Label().decode(model, sources, DecodingConfig(**settings))]  # type: ignore[arg-type]


def test_output_is_the_likeliest_token_of_each_place_up_to_the_first_end_mark(model: Labeller) -> None:
    sources = [random_text(SOURCE_VOCABULARY, n) for n in (SOURCE, 1, 7, 2, 5, 3) for _ in range(9)]
    ((usual, _),) = Counter(id for ids in decode(model, sources) for id in ids).most_common(1)
    with torch.no_grad():  # an end mark where the most usual token would come, so that some outputs end early
        model.projection[EOS] = model.projection[usual] * 1.01
    expected = []
    for source in sources:
        logits = model(torch.tensor([source]), torch.tensor([len(source)]))[0]
        logits[:, [i for i in range(RESERVED) if i not in (EOS, UNK)]] = -torch.inf
        ids = logits.argmax(1).tolist()
        expected.append(tuple(ids[: ids.index(EOS)] if EOS in ids else ids))
    assert decode(model, sources, unknown="mark") == expected
    lengths = [(len(ids), len(source)) for ids, source in zip(expected, sources, strict=True)]
    assert any(n == m for n, m in lengths) and any(n < m for n, m in lengths)


def test_case_104_case_107_batch_mates_change_no_output(model: Labeller) -> None:
    sources = [random_text(SOURCE_VOCABULARY, n) for n in (SOURCE, 1, 7, 2, 1, 5, 3)]
    together = Label().decode(model, [*sources, []], DecodingConfig(), batch_tokens=23)
    for source, (found,) in zip([*sources, []], together, strict=True):
        ((alone,),) = Label().decode(model, [source], DecodingConfig())
        assert alone.ids == found.ids
        assert alone.score == pytest.approx(found.score, abs=1e-4)


def test_scores_are_the_probabilities_that_the_model_gives_its_output(model: Labeller) -> None:
    sources = [random_text(SOURCE_VOCABULARY, n) for n in (SOURCE, 1, 7, 2, 5, 3)]
    found = [h for (h,) in Label().decode(model, sources, DecodingConfig())]
    rows = Label().token_log_probabilities(model, Label().batch(sources, [h.ids for h in found], range(len(sources))))
    for h, row in zip(found, rows, strict=True):
        assert h.token_log_probabilities == pytest.approx(row, abs=1e-5)
        assert h.score == h.log_probability == pytest.approx(sum(row), abs=1e-4)


# Learning

LETTERS, LONGEST, ROWS, WARMUP, PEAK = 11, 5, 64, 50, 5e-3

Rule = Callable[[list[int]], list[int]]


def sequences(count: int) -> list[list[int]]:
    lengths = torch.randint(1, LONGEST + 1, (count,)).tolist()
    return [torch.randint(RESERVED, RESERVED + LETTERS, (length,)).tolist() for length in lengths]


def share_right(config: ModelConfig, rule: Rule, updates: int) -> float:
    """Train the model on a rule; the share of unseen sequences on which it then makes no fault."""
    model, task = config.build(RESERVED + LETTERS, RESERVED + LETTERS), Label()
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for update in range(1, updates + 1):
        for group in optimizer.param_groups:
            group["lr"] = PEAK * min(update / WARMUP, (updates + 1 - update) / (updates + 1 - WARMUP))
        sources = sequences(ROWS)
        batch = task.batch(sources, [rule(source) for source in sources], range(ROWS))
        optimizer.zero_grad()
        (task.loss(model, batch, smoothing=0.0) / batch["expected"].lengths.sum()).backward()
        optimizer.step()
    unseen = sequences(300)
    found = task.decode(model, unseen, DecodingConfig())
    return sum(list(h.ids) == rule(source) for source, (h,) in zip(unseen, found, strict=True)) / len(unseen)


def one_before(ids: list[int]) -> list[int]:
    return [ids[0], *ids[:-1]]


def without_the_last(ids: list[int]) -> list[int]:
    return ids[:-1]


def largest(ids: list[int]) -> list[int]:
    return [max(ids)] * len(ids)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_a_recurrent_network_learns_what_came_before(cell: Cell) -> None:
    assert share_right(RnnConfig(cell=cell, d_model=64), one_before, 300) >= 0.99


def test_concatenated_input_knows_every_place() -> None:
    config = FeedForwardConfig(input="concat", d_model=32, d_ff=256, max_positions=LONGEST)
    assert share_right(config, lambda ids: ids[::-1], 600) >= 0.99


def test_concatenated_input_learns_to_end_before_its_source_does() -> None:
    config = FeedForwardConfig(input="concat", d_model=32, d_ff=256, max_positions=LONGEST)
    assert share_right(config, without_the_last, 600) >= 0.99


def test_averaged_input_learns_what_needs_no_order_and_nothing_that_does() -> None:
    config = FeedForwardConfig(input="mean", d_model=64, d_ff=256)
    assert share_right(config, largest, 600) >= 0.97
    # Right only for one letter, again and again.
    same = sum(len(set(ids)) == 1 for ids in sequences(3000)) / 3000
    assert share_right(config, lambda ids: ids, 300) <= same + 0.05
