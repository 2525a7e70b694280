"""Models that go on with a text: what holds for every decoder, and what is theirs alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.contracts.test_causality import test_a_token_changes_no_prediction_up_to_its_own_and_a_later_one
from tests.contracts.test_padding import (
    test_padding_of_the_target_changes_nothing,
    test_train_and_eval_mode_agree_without_dropout,
)
from tests.contracts.test_recording import (
    test_a_replacement_acts_on_steps_as_on_the_whole,
    test_each_place_has_one_name_and_a_step_passes_the_same_ones,
    test_recorded_equals_unrecorded,
    test_switching_off_one_head_changes_the_output,
    test_whatever_a_recorder_replaces_changes_the_output,
)
from tests.contracts.test_saving import (
    test_saved_and_loaded_model_gives_equal_outputs,
    test_weights_that_do_not_fit_are_named_and_nothing_is_loaded,
)
from tests.contracts.test_stepping import (
    test_a_larger_room_changes_nothing,
    test_state_rows_are_picked_repeated_and_dropped,
    test_step_by_step_equals_teacher_forcing,
    test_two_selections_of_a_state_go_their_own_ways,
)
from tests.contracts.variations import BATCH, POSITIONS, Variation, close, example, having, random_text, teacher_forced
from transduce.errors import InputError
from transduce.models.contract import LanguageModel
from transduce.search import DecodingConfig, Hypothesis
from transduce.search.constraints import banned_ids
from transduce.search.ensemble import Ensemble
from transduce.tasks import Generate
from transduce.text.specials import BOS, EOS

# Collected here too, with the language models as `model`.
__all__ = [
    "test_a_larger_room_changes_nothing",
    "test_a_replacement_acts_on_steps_as_on_the_whole",
    "test_a_token_changes_no_prediction_up_to_its_own_and_a_later_one",
    "test_each_place_has_one_name_and_a_step_passes_the_same_ones",
    "test_padding_of_the_target_changes_nothing",
    "test_recorded_equals_unrecorded",
    "test_saved_and_loaded_model_gives_equal_outputs",
    "test_state_rows_are_picked_repeated_and_dropped",
    "test_step_by_step_equals_teacher_forcing",
    "test_switching_off_one_head_changes_the_output",
    "test_train_and_eval_mode_agree_without_dropout",
    "test_two_selections_of_a_state_go_their_own_ways",
    "test_weights_that_do_not_fit_are_named_and_nothing_is_loaded",
    "test_whatever_a_recorder_replaces_changes_the_output",
]

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

MORE = 6


@pytest.fixture(params=having("language-model"), ids=lambda v: v.name)
def variation(request: pytest.FixtureRequest) -> Variation:
    return request.param


def go_on(model: Any, prompts: list[list[int]], **settings: Any) -> list[list[Hypothesis]]:
    return Generate().decode(model, prompts, DecodingConfig(**{"max_extra": MORE, "beam": 1, **settings}))


def greedy(model: LanguageModel, prompt: list[int]) -> tuple[int, ...]:
    """The prompt and the best token again and again, each time from the beginning."""
    ids = list(prompt)
    while len(ids) < len(prompt) + MORE:
        logits = model(torch.tensor([[BOS, *ids]]))[0, -1]
        logits[list(banned_ids(DecodingConfig()))] = -torch.inf
        token = int(logits.argmax())
        if token == EOS:
            break
        ids.append(token)
    return tuple(ids)


def prompts(model: LanguageModel) -> list[list[int]]:
    return [random_text(model.vocabulary, n) for n in (7, 0, 1, 5, 2)]


def test_case_110_greedy_search_goes_on_with_the_likeliest_tokens(model: LanguageModel) -> None:
    given = prompts(model)
    with torch.inference_mode():
        assert [h.ids for (h,) in go_on(model, given)] == [greedy(model, prompt) for prompt in given]


@pytest.mark.parametrize("settings", [{"beam": 3, "nbest": 3}, {"sample": True, "nbest": 2}], ids=["beam", "sample"])
def test_case_104_case_107_batch_mates_change_no_output(model: LanguageModel, settings: dict[str, Any]) -> None:
    given = prompts(model)
    together = go_on(model, given, **settings)
    for i, prompt in enumerate(given):
        (alone,) = Generate().decode(
            model, [prompt], DecodingConfig(**{"max_extra": MORE, "beam": 1, **settings}), sentence_ids=[i]
        )
        assert [h.ids for h in alone] == [h.ids for h in together[i]]
        assert [h.score for h in alone] == pytest.approx([h.score for h in together[i]], abs=1e-4)


def test_scores_are_those_of_teacher_forcing(model: LanguageModel) -> None:
    for hypotheses in go_on(model, prompts(model), beam=4, nbest=4):
        texts = [h.ids for h in hypotheses]
        rows = Generate().token_log_probabilities(model, Generate().batch(texts, texts, range(len(texts))))
        for h, row in zip(hypotheses, rows, strict=True):
            assert h.token_log_probabilities == pytest.approx(row[: len(h.token_log_probabilities)], abs=1e-4)


def test_an_ensemble_of_one_model_twice_writes_what_it_writes(model: LanguageModel) -> None:
    given = prompts(model)
    alone, both = go_on(model, given), go_on(Ensemble([model, model]), given)
    assert [h.ids for (h,) in alone] == [h.ids for (h,) in both]


def test_memory_is_empty_and_has_rows(model: LanguageModel) -> None:
    given = example(model)
    rows = torch.tensor([2, 0, 0, 2, 0])
    memory = model.encode(given.source.ids, given.source.lengths).select(rows)
    logits, _ = model.step(given.previous[rows, 0], model.start(memory, 1))
    close(logits, teacher_forced(model, given)[rows, 0])
    assert len(logits) == 5 != BATCH


def test_case_121_case_124_the_last_position_is_usable_and_the_next_is_refused(model: LanguageModel) -> None:
    assert model.max_positions == POSITIONS
    text = torch.tensor([[BOS, *random_text(model.vocabulary, POSITIONS)]])
    assert model(text[:, :POSITIONS]).isfinite().all()
    with pytest.raises(InputError, match=rf"{POSITIONS + 1} tokens is longer than the {POSITIONS} learned positions"):
        model(text)
    (found,) = go_on(model, [text[0, 1:].tolist()[: POSITIONS - 2]], max_extra=5000, min_length=5000)[0]
    assert len(found.ids) == POSITIONS and not found.finished
