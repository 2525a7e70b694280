"""Padding and the other rows of a batch change nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from tests.contracts.variations import (
    BATCH,
    SOURCE,
    SOURCE_VOCABULARY,
    TARGET,
    Example,
    close,
    example,
    random_text,
    stepped,
    teacher_forced,
    tensors,
)
from transduce.data.batch import Batch, Stream
from transduce.layers.tap import record
from transduce.models.contract import EncoderDecoder
from transduce.tasks.translate import Translate
from transduce.text.specials import BOS, EOS, PAD, RESERVED

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


def alone(given: Example, row: int) -> Example:
    """One row without its padding."""
    length = given.source.lengths[row : row + 1]
    return Example(Stream(given.source.ids[row : row + 1, : int(length)], length), given.previous[row : row + 1])


def test_batch_mates_do_not_matter(model: EncoderDecoder) -> None:
    given = example(model)
    together = teacher_forced(model, given)
    for row in range(BATCH):
        close(together[row : row + 1], teacher_forced(model, alone(given, row)))


@pytest.mark.parametrize("cached", [True, False])
def test_case_109_padding_changes_nothing(model: EncoderDecoder, cached: bool) -> None:
    forward = stepped if cached else teacher_forced
    given = example(model, lengths=(5,))
    expected = forward(model, given)
    for pad in range(11):
        ids = F.pad(given.source.ids, (0, pad), value=PAD)
        close(forward(model, replace(given, source=Stream(ids, given.source.lengths))), expected)


def test_what_stands_in_the_padding_does_not_matter(model: EncoderDecoder) -> None:
    given = example(model)
    hidden = torch.arange(SOURCE) >= given.source.lengths[:, None]
    other = torch.randint(RESERVED, SOURCE_VOCABULARY, (BATCH, SOURCE))
    ids = torch.where(hidden, other, given.source.ids)
    assert not torch.equal(ids, given.source.ids)
    close(teacher_forced(model, replace(given, source=Stream(ids, given.source.lengths))), teacher_forced(model, given))


def test_padding_of_the_target_changes_nothing(model: EncoderDecoder) -> None:
    given = example(model)
    padded = replace(given, previous=F.pad(given.previous, (0, 5), value=PAD))
    close(teacher_forced(model, padded)[:, :TARGET], teacher_forced(model, given))


def test_case_68_columns_that_are_padding_in_every_row(model: EncoderDecoder) -> None:
    text = [random_text(SOURCE_VOCABULARY, 4) for _ in range(2)]
    source = Stream(F.pad(torch.tensor(text), (0, 2), value=PAD), torch.tensor([4, 4]))
    given = Example(source, example(model).previous[:2])
    assert teacher_forced(model, given).shape == (2, TARGET, model.vocabulary)
    training, evaluating = (tensors(model.train(mode).encode(source.ids, source.lengths)) for mode in (True, False))
    assert len(training) == len(evaluating) > 0
    for a, b in zip(training, evaluating, strict=True):
        close(a.double(), b.double())
    if "cross-attention" in model.capabilities:
        assert model.encode(source.ids, source.lengths).states.shape == (2, 6, model.d_model)


def test_train_and_eval_mode_agree_without_dropout(model: EncoderDecoder) -> None:
    given = example(model)
    close(teacher_forced(model.train(), given), teacher_forced(model.eval(), given))


def batch(sources: list[list[int]], targets: list[list[int] | None]) -> Batch:
    """`Translate.batch` for rows that it would never be given: no source, or no target at all (None)."""
    streams = {
        "source": Stream.pad(sources),
        "previous": Stream.pad([[] if t is None else [BOS, *t] for t in targets]),
        "expected": Stream.pad([[] if t is None else [*t, EOS] for t in targets]),
    }
    return Batch(streams, tuple(range(len(sources))))


def loss_and_gradients(model: EncoderDecoder, given: Batch, recorded: bool) -> tuple[torch.Tensor, ...]:
    model.zero_grad()
    if recorded:
        with record(lambda _, value: value):
            loss = Translate().loss(model, given, smoothing=0.1)
    else:
        loss = Translate().loss(model, given, smoothing=0.1)
    loss.backward()
    return loss.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("recorded", [False, True], ids=["fused", "explicit"])
def test_case_67_an_empty_row_adds_nothing(model: EncoderDecoder, recorded: bool) -> None:
    sources = [random_text(SOURCE_VOCABULARY, n) for n in (5, 3)]
    targets = [random_text(model.vocabulary, n) for n in (2, 4)]
    without = loss_and_gradients(model.train(), batch(sources, [*targets]), recorded)
    with_it = loss_and_gradients(model, batch([*sources, []], [*targets, None]), recorded)
    assert len(with_it) == len(without) > 1
    for a, b in zip(with_it, without, strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("recorded", [False, True], ids=["fused", "explicit"])
def test_case_67_an_empty_source_with_a_target_is_finite(model: EncoderDecoder, recorded: bool) -> None:
    given = batch([random_text(SOURCE_VOCABULARY, 5), []], [random_text(model.vocabulary, 3), [RESERVED]])
    assert all(value.isfinite().all() for value in loss_and_gradients(model.train(), given, recorded))
    logits = stepped(model, Example(given["source"], given["previous"].ids))
    assert logits.isfinite().all()
