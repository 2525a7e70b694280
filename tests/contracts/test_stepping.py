"""One token at a time gives what one pass gives."""

from __future__ import annotations

from dataclasses import replace

import torch

from tests.contracts.variations import BATCH, TARGET, close, example, stepped, teacher_forced
from transduce.models.contract import EncoderDecoder


def test_step_by_step_equals_teacher_forcing(model: EncoderDecoder) -> None:
    given = example(model)
    logits = stepped(model, given)
    assert logits.shape == (BATCH, TARGET, model.vocabulary)
    close(logits, teacher_forced(model, given))


def test_a_larger_room_changes_nothing(model: EncoderDecoder) -> None:
    given = example(model)
    memory = model.encode(given.source.ids, given.source.lengths)
    exact, _ = model.step(given.previous[:, 0], model.start(memory, 1))
    roomy, _ = model.step(given.previous[:, 0], model.start(memory, 29))
    close(roomy, exact)


def test_memory_rows_are_picked_repeated_and_dropped(model: EncoderDecoder) -> None:
    given = example(model)
    rows = torch.tensor([2, 0, 0, 2, 0])
    memory = model.encode(given.source.ids, given.source.lengths).select(rows)
    expected = teacher_forced(model, given)[rows]
    close(model.project(model.hidden(given.previous[rows], memory)), expected)
    logits, _ = model.step(given.previous[rows, 0], model.start(memory, TARGET))
    close(logits, expected[:, 0])


def test_state_rows_are_picked_repeated_and_dropped(model: EncoderDecoder) -> None:
    given = example(model)
    rows = torch.tensor([2, 0, 0, 2, 0])
    state = model.start(model.encode(given.source.ids, given.source.lengths), TARGET)
    for t in range(3):
        _, state = model.step(given.previous[:, t], state)
    expected = teacher_forced(model, given)[rows]
    picked = state.select(rows)
    for t in range(3, TARGET):
        logits, picked = model.step(given.previous[rows, t], picked)
        close(logits, expected[:, t])


def test_two_selections_of_a_state_go_their_own_ways(model: EncoderDecoder) -> None:
    """Beam search gives one hypothesis several successors: they must not write into one another's room."""
    given, other = example(model), example(model)
    state = model.start(model.encode(given.source.ids, given.source.lengths), TARGET)
    for t in range(2):
        _, state = model.step(given.previous[:, t], state)
    first, second = state.select(torch.arange(BATCH)), state.select(torch.arange(BATCH))
    forked = torch.cat([given.previous[:, :2], other.previous[:, 2:]], dim=1)
    expected = [teacher_forced(model, replace(given, previous=previous)) for previous in (given.previous, forked)]
    for t in range(2, TARGET):
        logits, first = model.step(given.previous[:, t], first)
        close(logits, expected[0][:, t])
        logits, second = model.step(forked[:, t], second)
        close(logits, expected[1][:, t])
