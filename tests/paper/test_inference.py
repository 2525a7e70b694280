"""The decoder at work: facts 11 and 12 (article 2.9.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.variations import SOURCE_VOCABULARY, Variation, having, random_text
from transduce.data.batch import Stream
from transduce.models.transformer import TransformerConfig
from transduce.search import DecodingConfig, search
from transduce.tasks.translate import Translate
from transduce.text.specials import EOS


@pytest.mark.parametrize("variation", having("encoder-decoder"), ids=lambda v: v.name)
def test_fact_11_one_pass_gives_the_log_probabilities_of_cached_steps(variation: Variation) -> None:
    model = variation.build()
    source = random_text(SOURCE_VOCABULARY, 5)
    stream = Stream.pad([[*source, EOS]])
    (found,) = search(model, stream.ids, stream.lengths, DecodingConfig(beam=3, nbest=3, max_extra=2))
    batch = Translate().batch([source] * len(found), [h.ids for h in found], range(len(found)))
    for h, values in zip(found, Translate().token_log_probabilities(model, batch), strict=True):
        # An output that was cut off has no end mark to compare.
        assert h.token_log_probabilities == pytest.approx(values[: len(h.ids) + h.finished], abs=1e-4)


def count_calls(monkeypatch: pytest.MonkeyPatch, thing: object, name: str) -> list[str]:
    """A list that grows by one with every call of a method."""
    calls: list[str] = []
    method = getattr(thing, name)

    def counted(*args: Any) -> Any:
        calls.append(name)
        return method(*args)

    monkeypatch.setattr(thing, name, counted)
    return calls


@pytest.mark.parametrize("beam", [1, 4])
def test_fact_12_the_encoder_runs_once_however_long_the_output(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    config = TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=26, d_ff=29, heads=2)
    model = config.build(SOURCE_VOCABULARY, SOURCE_VOCABULARY)
    encoded = count_calls(monkeypatch, model, "encode")
    layers = [count_calls(monkeypatch, layer, "forward") for layer in model.encoder]
    # Nor are the keys and values that the decoder makes of its output made again.
    memory = [count_calls(monkeypatch, layer.cross_attention, "keys_values") for layer in model.decoder]
    stepped = count_calls(monkeypatch, model, "step")
    stream = Stream.pad([[*random_text(SOURCE_VOCABULARY, n), EOS] for n in (7, 3)])
    search(model, stream.ids, stream.lengths, DecodingConfig(beam=beam, min_length=11))
    assert len(stepped) > 11
    assert [len(calls) for calls in (encoded, *layers, *memory)] == [1, 1, 1, 1, 1]
