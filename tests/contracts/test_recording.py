"""A recorder sees the real forward pass, and may change it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.contracts.variations import (
    BATCH,
    SOURCE,
    TARGET,
    Example,
    Variation,
    close,
    example,
    having,
    stepped,
    teacher_forced,
)
from transduce.layers.tap import Recorder, record
from transduce.models.contract import EncoderDecoder

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


def taps(run: Callable[[], object]) -> list[tuple[str, Tensor]]:
    """What a recorder sees, in order."""
    seen: list[tuple[str, Tensor]] = []

    def look(name: str, value: Tensor) -> Tensor:
        seen.append((name, value))
        return value

    with record(look):
        run()
    return seen


def without_head(places: Container[str], head: int) -> Recorder:
    """A recorder that switches one head off at some places."""

    def switch_off(name: str, value: Tensor) -> Tensor:
        keep = torch.arange(value.shape[1]) != head
        return value * keep[:, None, None] if name in places else value

    return switch_off


@pytest.mark.parametrize("forward", [teacher_forced, stepped])
def test_recorded_equals_unrecorded(model: EncoderDecoder, forward: Callable[[Any, Example], Tensor]) -> None:
    given = example(model, lengths=(SOURCE, 5, 0))
    expected = forward(model, given)
    with record(lambda _, value: value):
        recorded = forward(model, given)
    close(recorded, expected)
    assert torch.equal(forward(model, given), expected)


def test_each_place_has_one_name_and_a_step_passes_the_same_ones(model: EncoderDecoder) -> None:
    given = example(model)
    heard = Counter(name for name, _ in taps(lambda: teacher_forced(model, given)))
    # What a recurrent layer computes position by position is heard once for each.
    times = {"encoder": {1}, "decoder": {1}, "logits": {1}}
    if "recurrent" in model.capabilities:
        times["encoder"].add(SOURCE)
        times["decoder"].add(TARGET)
    assert heard and all(count in times[name.split(".")[0]] for name, count in heard.items())
    names = list(heard)
    memory = model.encode(given.source.ids, given.source.lengths)
    in_step = [name for name, _ in taps(lambda: model.step(given.previous[:, 0], model.start(memory, 1)))]
    assert in_step == [name for name in names if not name.startswith("encoder.")]


def test_whatever_a_recorder_replaces_changes_the_output(model: EncoderDecoder) -> None:
    given = example(model)
    expected = teacher_forced(model.double(), given)
    for place, _ in taps(lambda: teacher_forced(model, given)):

        def blank(name: str, value: Tensor, place: str = place) -> Tensor:
            return torch.zeros_like(value) if name == place else value

        with record(blank):
            replaced = teacher_forced(model, given)
        assert replaced.shape == expected.shape and (replaced - expected).abs().max() > 1e-9, place


def test_switching_off_one_head_changes_the_output(model: EncoderDecoder) -> None:
    given = example(model)
    expected = teacher_forced(model.double(), given)
    for place, value in taps(lambda: teacher_forced(model, given)):
        if place.endswith(".heads"):
            outputs = []
            for head in range(value.shape[1]):
                with record(without_head({place}, head)):
                    outputs.append(teacher_forced(model, given))
                assert (outputs[-1] - expected).abs().max() > 1e-9, (place, head)
            assert (outputs[0] - outputs[1]).abs().max() > 1e-9, place


def test_a_replacement_acts_on_steps_as_on_the_whole(model: EncoderDecoder) -> None:
    given = example(model)
    places = {name for name, _ in taps(lambda: teacher_forced(model, given)) if name.endswith(".heads")}
    with record(without_head(places, 1)):
        close(stepped(model, given), teacher_forced(model, given))


@pytest.mark.parametrize("attending", having("cross-attention"), ids=lambda v: v.name)
def test_cross_attention_is_heard_for_every_target_and_source_token(attending: Variation) -> None:
    model = attending.build()
    given = example(model)
    maps: dict[str, list[Tensor]] = {}
    for name, value in taps(lambda: teacher_forced(model, given)):
        if name.endswith(".cross.weights"):
            maps.setdefault(name, []).append(value)
    assert maps
    for parts in maps.values():
        weights = torch.cat(parts, dim=-2)
        assert weights.shape[0] == BATCH and weights.shape[2:] == (TARGET, SOURCE)
        hidden = torch.arange(SOURCE) >= given.source.lengths[:, None]
        assert (weights >= 0).all() and (weights.masked_select(hidden[:, None, None]) == 0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("attending", having("cross-attention"), ids=lambda v: v.name)
def test_other_weights_act_on_steps_as_on_the_whole(attending: Variation) -> None:
    model = attending.build()
    given = example(model)

    def soften(name: str, value: Tensor) -> Tensor:
        return value.sqrt() if name.endswith(".weights") else value

    expected = teacher_forced(model, given)
    with record(soften):
        changed = teacher_forced(model, given)
        close(stepped(model, given), changed)
    assert (changed - expected).abs().max() > 1e-3
