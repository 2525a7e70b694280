"""Sequence to sequence: one context vector, and a source that is read backwards."""

from __future__ import annotations

from torch import Tensor

from tests.contracts.variations import SOURCE_VOCABULARY, close, random_text, shaken
from transduce.data.batch import Stream
from transduce.models import Seq2SeqConfig
from transduce.models.seq2seq import Seq2Seq

ROWS = [random_text(SOURCE_VOCABULARY, n) for n in (11, 5, 2)]


def context(model: Seq2Seq, rows: list[list[int]]) -> Tensor:
    source = Stream.pad(rows)
    return model.encode(source.ids, source.lengths).context


def test_reading_backwards_is_reading_the_reversed_text_whatever_the_padding() -> None:
    config = Seq2SeqConfig(layers=2, d_model=13)
    backwards: Seq2Seq = shaken(config.build(SOURCE_VOCABULARY, SOURCE_VOCABULARY))  # type: ignore[assignment]
    forwards = config.model_copy(update={"reverse_source": False}).build(SOURCE_VOCABULARY, SOURCE_VOCABULARY)
    forwards.load_state_dict(backwards.state_dict())
    close(context(backwards, ROWS), context(forwards, [row[::-1] for row in ROWS]))
    assert (context(backwards, ROWS) - context(forwards, ROWS)).abs().max() > 1e-3


def test_all_that_the_decoder_gets_is_as_large_for_a_long_source_as_for_a_short_one() -> None:
    model = Seq2SeqConfig(layers=2, d_model=13).build(SOURCE_VOCABULARY, SOURCE_VOCABULARY)
    assert context(model, ROWS[:1]).shape == context(model, ROWS[2:]).shape == (1, 2, 2, 13)
