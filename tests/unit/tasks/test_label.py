"""One output for each input: what becomes of targets of another length, and what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from transduce.errors import ConfigError, InputError
from transduce.models import FeedForwardConfig, RnnConfig
from transduce.search import DecodingConfig
from transduce.tasks import TASKS, Label, TaskName
from transduce.text.specials import EOS, PAD

A, B, C, D, E = range(21, 26)

LONGER, EQUAL, SHORTER = ([A, B], [C, D, E]), ([A, B, C], [D, E, A]), ([A, B, C, D], [E, A])
PAIRS = (LONGER, EQUAL, SHORTER)


class Lengths:
    """As much of a store as `tokens` asks for."""

    def lengths(self, name: str) -> np.ndarray:
        return np.array([len(pair[name == "target"]) for pair in PAIRS], np.int32)


def test_a_target_is_cut_or_ends_where_its_source_has_more() -> None:
    batch = Label().batch(*zip(*PAIRS, strict=True), examples=[5, 7, 11])
    assert batch["source"].ids.tolist() == [[A, B, PAD, PAD], [A, B, C, PAD], [A, B, C, D]]
    assert batch["expected"].ids.tolist() == [[C, D, PAD], [D, E, A], [E, A, EOS]]
    assert batch["expected"].lengths.tolist() == [2, 3, 3] and batch.examples == (5, 7, 11)
    assert Label().tokens(Lengths(), np.array([0, 1, 2])) == (2 + 3 + 4, 2 + 3 + 3)  # type: ignore[arg-type]
    assert Label().tokens(Lengths(), np.array([2])) == (4, 3)  # type: ignore[arg-type]


def test_the_loss_counts_each_token_up_to_the_end_mark_once() -> None:
    model = RnnConfig(d_model=7).build(29, 31)
    batch = Label().batch(*zip(*PAIRS, strict=True), examples=[0, 1, 2])
    log_p = model(batch["source"].ids, batch["source"].lengths).log_softmax(-1).detach()
    by_hand = [
        [log_p[0, 0, C], log_p[0, 1, D]],
        [log_p[1, 0, D], log_p[1, 1, E], log_p[1, 2, A]],
        [log_p[2, 0, E], log_p[2, 1, A], log_p[2, 2, EOS]],
    ]
    total = -sum(float(value) for row in by_hand for value in row)
    assert float(Label().loss(model, batch, 0.0).detach()) == pytest.approx(total, rel=1e-5)
    for row, expected in zip(Label().token_log_probabilities(model, batch), by_hand, strict=True):
        assert row == pytest.approx([float(value) for value in expected], rel=1e-5)


def test_what_it_costs_is_counted_by_hand() -> None:
    cost = Label().cost({name: Lengths().lengths(name) for name in ("source", "target")})
    assert cost is not None
    assert cost.figures == {
        "pairs": 3, "cut_targets": 1, "target_tokens": 8, "lost_target_tokens": 1, "places": 9, "idle_places": 2,
    }  # fmt: skip
    assert str(cost) == (
        "one token out for each in: 1 of 3 targets (33.3%) are longer than their source and cut, which loses 1 of 8 "
        "target tokens (12.5%); 2 of 9 source tokens (22.2%) are left with nothing to write"
    )
    same = np.array([5, 7])
    assert Label().cost({"source": same, "target": same}) is None


def test_a_search_is_refused_and_what_has_an_effect_is_not() -> None:
    label = Label()
    for settings in ({}, {"beam": 1}, {"unknown": "mark"}, {"max_source": 7}, {"without_letters": "translate"}):
        label.check(DecodingConfig(**settings))  # type: ignore[arg-type]
    refused: tuple[dict[str, Any], ...] = ({"beam": 5}, {"sample": True}, {"nbest": 2}, {"length_penalty": 1.0})
    for settings in refused:
        ((name, value),) = settings.items()
        with pytest.raises(ConfigError) as error:
            label.check(DecodingConfig(**settings))
        assert str(error.value) == (
            f'decoding.{name} = {value!r} has no effect on the task "label", whose output comes of one pass, the '
            "likeliest token at each place: leave it out"
        )


def test_a_forced_beginning_is_refused() -> None:
    model = FeedForwardConfig(d_model=7, d_ff=11).build(29, 31)
    with pytest.raises(InputError, match="no place of the output hears of another"):
        Label().decode(model, [[A]], DecodingConfig(), prefixes=[[B]])


def test_an_ensemble_averages_the_probabilities_at_each_place() -> None:
    models = [RnnConfig(d_model=7).build(29, 31).eval() for _ in range(3)]
    ids, lengths = torch.tensor([[A, B, C], [D, E, PAD]]), torch.tensor([3, 2])
    together = Label().ensemble(models)
    mean = torch.stack([model(ids, lengths).softmax(-1).detach() for model in models]).mean(0)
    torch.testing.assert_close(together(ids, lengths).exp(), mean)
    assert (together.vocabulary, together.max_positions) == (31, None)
    ((found,), (other,)) = Label().decode(together, [[A, B, C], [D, E]], DecodingConfig())
    assert found.finished and other.finished
    assert found.token_log_probabilities[0] == pytest.approx(
        float(mean[0, 0, [EOS, *range(21, 31)]].max().log()), abs=1e-5
    )


def test_each_task_is_known_by_its_own_name() -> None:
    assert set(TASKS) == set(TaskName.__args__)  # type: ignore[attr-defined]
    assert all(task.name == name for name, task in TASKS.items())
