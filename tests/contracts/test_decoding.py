"""The one search over every model, judged by plain recomputation without a cache."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from tests.contracts.variations import SOURCE, SOURCE_VOCABULARY, Variation, random_text
from transduce.data.batch import Stream
from transduce.models.contract import EncoderDecoder
from transduce.search import DecodingConfig, Hypothesis, LengthPenalty, banned_ids, search
from transduce.tasks.translate import Translate
from transduce.text.specials import BOS, EOS, RESERVED

EXTRA = 5

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


def decode(model: EncoderDecoder, text: list[list[int]], **settings: Any) -> list[list[Hypothesis]]:
    stream = Stream.pad([[*ids, EOS] for ids in text])
    return search(model, stream.ids, stream.lengths, DecodingConfig(**{"max_extra": EXTRA, **settings}))


def greedy(model: EncoderDecoder, source: list[int]) -> tuple[tuple[int, ...], bool]:
    """The best token again and again, each time from the beginning: ids, and whether the end mark came."""
    ids: tuple[int, ...] = ()
    while True:
        read = torch.tensor([[*source, EOS]])
        logits = model(read, torch.tensor([len(source) + 1]), torch.tensor([[BOS, *ids]]))[0, -1]
        logits[list(banned_ids(DecodingConfig()))] = -torch.inf
        token = int(logits.argmax())
        if token == EOS or len(ids) == len(source) + EXTRA:
            return ids, token == EOS
        ids += (token,)


def test_case_110_beam_of_one_equals_greedy(model: EncoderDecoder) -> None:
    sources = [random_text(SOURCE_VOCABULARY, n) for n in (SOURCE, 1, 7, 2, 5)]
    found = decode(model, sources, beam=1)
    with torch.inference_mode():
        assert [(h.ids, h.finished) for (h,) in found] == [greedy(model, source) for source in sources]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_case_115_beam_as_wide_as_the_space_equals_brute_force(variation: Variation, alpha: float) -> None:
    # Two words of text, and output of up to 3 + 1 tokens: 1 + 2 + 4 + 8 + 16 outputs. The last step has 3 · 16
    # candidates, and an end mark counts among the best `beam` of them.
    words, longest, outputs, beam = (RESERVED, RESERVED + 1), 4, 31, 48
    model = variation.build(RESERVED + 2, RESERVED + 2)
    source = [RESERVED, RESERVED + 1, RESERVED + 1]
    penalty = LengthPenalty(alpha, "gnmt")
    scores: dict[tuple[int, ...], float] = {}
    for length in range(longest + 1):
        every = list(itertools.product(words, repeat=length))
        batch = Translate().batch([source] * len(every), every, range(len(every)))
        for ids, values in zip(every, Translate().token_log_probabilities(model, batch), strict=True):
            scores[ids] = sum(values) / float(penalty(torch.tensor(length + 1).numpy()))
    (found,) = decode(model, [source], beam=beam, nbest=outputs, length_penalty=alpha, max_extra=1)
    assert len(scores) == len(found) == outputs
    assert found[0].ids == max(scores, key=scores.__getitem__)
    assert {h.ids: h.score for h in found} == pytest.approx(scores, abs=1e-4)
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


@pytest.mark.parametrize("beam", [1, 3])
def test_case_104_case_107_batch_mates_change_no_output(model: EncoderDecoder, beam: int) -> None:
    sources = [random_text(SOURCE_VOCABULARY, n) for n in (SOURCE, 1, 7, 2, 1, 5, 3)]
    together = decode(model, sources, beam=beam, nbest=beam)
    for i, source in enumerate(sources):
        (by_itself,) = decode(model, [source], beam=beam, nbest=beam)
        assert [h.ids for h in by_itself] == [h.ids for h in together[i]]
        assert [h.score for h in by_itself] == pytest.approx([h.score for h in together[i]], abs=1e-4)


def test_scores_are_those_of_teacher_forcing(model: EncoderDecoder) -> None:
    sources = [random_text(SOURCE_VOCABULARY, n) for n in (7, 2)]
    for source, hypotheses in zip(sources, decode(model, sources, beam=5, nbest=5), strict=True):
        batch = Translate().batch([source] * len(hypotheses), [h.ids for h in hypotheses], range(len(hypotheses)))
        for h, values in zip(hypotheses, Translate().token_log_probabilities(model, batch), strict=True):
            assert h.token_log_probabilities == pytest.approx(values[: len(h.token_log_probabilities)], abs=1e-4)
