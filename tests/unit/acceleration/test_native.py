"""The native decoding step against the model's own, step for step, while rows are picked, repeated and dropped."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from transduce.acceleration import choice, int8, native
from transduce.acceleration.decoder import NativeState
from transduce.acceleration.structures import Form
from transduce.errors import InputError
from transduce.layers.tap import record
from transduce.models.transformer import Transformer, TransformerConfig, TransformerState

pytestmark = [
    pytest.mark.usefixtures("unchecked_shapes"),
    pytest.mark.skipif(native.load() is None, reason="no C compiler"),
]

VOCABULARY = 37
LENGTHS = (7, 3, 5, 1, 6)


def model(**settings: Any) -> Transformer:
    torch.manual_seed(0)
    sizes = {"d_model": 24, "heads": 3, "d_ff": 41, "encoder_layers": 1, "decoder_layers": 2}
    built = TransformerConfig(**{**sizes, **settings}).build(VOCABULARY, VOCABULARY).eval()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return built


@torch.inference_mode()
def logits(transformer: Transformer, steps: int = 11, most: int = 13) -> list[Tensor]:
    """Of some steps, between which rows leave, come twice and change places."""
    draw = torch.Generator().manual_seed(1)
    source = torch.randint(1, VOCABULARY, (len(LENGTHS), max(LENGTHS)), generator=draw)
    state = transformer.start(transformer.encode(source, torch.tensor(LENGTHS)), steps)
    previous, found = torch.ones(len(LENGTHS), dtype=torch.int64), []
    for _ in range(steps):
        table, state = transformer.step(previous, state)
        found.append(table)
        rows = torch.randint(len(table), (min(most, 2 * len(table)),), generator=draw)
        state = state.select(rows)
        # As search has them: a column of a table.
        previous = torch.randint(1, VOCABULARY, (len(rows), 3), generator=draw)[:, 1]
    return found


variations = pytest.mark.parametrize(
    "settings",
    [
        {}, {"norm": "pre"}, {"norm": "none"}, {"residual": False}, {"activation": "gelu"}, {"activation": "swiglu"},
        {"positions": "learned", "max_positions": 11}, {"positions": "scalar"}, {"positions": "none"},
        {"d_k": 5, "d_v": 11}, {"tie": "none"}, {"d_model": 48, "decoder_layers": 1},
    ],
    ids=str,
)  # fmt: skip


@variations
def test_a_native_step_is_the_plain_one(settings: dict[str, Any]) -> None:
    transformer = model(**settings)
    expected = logits(transformer)
    transformer.use_native_code("float32")
    for found, wanted in zip(logits(transformer), expected, strict=True):
        assert (found - wanted).abs().max() < 3e-5 * max(1, wanted.abs().max())


def test_a_long_search_moves_to_larger_rooms_with_what_is_still_seen() -> None:
    transformer = model()
    expected = logits(transformer, steps=97, most=3)
    transformer.use_native_code("float32")
    for found, wanted in zip(logits(transformer, steps=97, most=3), expected, strict=True):
        assert (found - wanted).abs().max() < 3e-5 * max(1, wanted.abs().max())


def test_threads_take_rows_and_change_nothing(monkeypatch: pytest.MonkeyPatch, shared: list[int]) -> None:
    transformer = model()
    transformer.use_native_code("float32")
    expected = logits(transformer, most=67)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    for found, wanted in zip(logits(transformer, most=67), expected, strict=True):
        assert torch.equal(found, wanted)
    assert 3 in shared


def test_a_row_is_the_same_bits_whatever_shares_the_batch() -> None:
    transformer = model()
    source = torch.randint(1, VOCABULARY, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(1))
    transformer.use_native_code("float32")
    with torch.inference_mode():
        memory = transformer.encode(source, torch.tensor(LENGTHS))
        together, _ = transformer.step(torch.ones(5, dtype=torch.int64), transformer.start(memory, 2))
        for i in range(len(LENGTHS)):
            start = transformer.start(memory.select(torch.tensor([i])), 2)
            alone, _ = transformer.step(torch.ones(1, dtype=torch.int64), start)
            assert torch.equal(alone[0], together[i])


def test_two_ways_on_from_one_state_do_not_disturb_each_other() -> None:
    transformer = model()
    transformer.use_native_code("float32")
    with torch.inference_mode():
        start = transformer.start(transformer.encode(torch.tensor([[2, 3, 5]]), torch.tensor([3])), 5)
        _, state = transformer.step(torch.tensor([1]), start)
        first, further = transformer.step(torch.tensor([7]), state)
        transformer.step(torch.tensor([11]), state)
        again, _ = transformer.step(torch.tensor([7]), state)
        assert torch.equal(first, again)
        after, _ = transformer.step(torch.tensor([13]), further)
        third = transformer.step(torch.tensor([13]), transformer.step(torch.tensor([7]), state)[1])[0]
        assert torch.equal(after, third)


@pytest.mark.skipif(not int8.available(), reason="no AVX2")
def test_int8_steps_are_close_to_float() -> None:
    transformer = model(d_model=48, d_ff=96)
    expected = logits(transformer)
    transformer.use_native_code("int8")
    for found, wanted in zip(logits(transformer), expected, strict=True):
        assert not torch.equal(found, wanted)
        assert (found - wanted).abs().max() < 0.06 * wanted.abs().max()


def test_a_recorder_sees_the_papers_equations() -> None:
    transformer = model()
    transformer.use_native_code("float32")
    heard: list[str] = []
    with torch.inference_mode():
        memory = transformer.encode(torch.tensor([[2, 3]]), torch.tensor([2]))
        assert isinstance(transformer.start(memory, 3), NativeState)
    with torch.inference_mode(), record(lambda name, tensor: (heard.append(name), tensor)[1]):
        state = transformer.start(memory, 3)
        assert isinstance(state, TransformerState)
        transformer.step(torch.tensor([1]), state)
        transformer.encode(torch.tensor([[2, 3]]), torch.tensor([2]))
    assert "encoder.0.self.weights" in heard
    assert "decoder.1.cross.weights" in heard


def test_after_the_last_learned_position_there_is_none() -> None:
    transformer = model(positions="learned", max_positions=11)
    transformer.use_native_code("float32")
    with pytest.raises(InputError, match="a sequence of 12 tokens is longer than the 11 learned positions"):
        logits(transformer, steps=12)


def test_memory_that_runs_out_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = model()
    transformer.use_native_code("float32")
    assert transformer._native is not None

    class Full:
        @staticmethod
        def decoder_step(*_: object) -> int:
            return 1

    monkeypatch.setattr(transformer._native[1]._arranged, "library", Full)
    with pytest.raises(MemoryError):
        logits(transformer)


@pytest.mark.parametrize("form", ["float32", "int8"])
def test_what_is_not_a_number_shows(form: Form) -> None:
    if form == "int8" and not int8.available():
        pytest.skip("no AVX2")
    transformer = model()
    with torch.no_grad():
        transformer.decoder[1].feed_forward.W_2.bias[3] = torch.nan
    transformer.use_native_code(form)
    assert logits(transformer, steps=1)[0].isnan().all()


@pytest.mark.parametrize("size", [3, 16, 1003])
def test_log_probabilities_are_those_of_torch(size: int) -> None:
    logits = 7 * torch.randn(5, size, generator=torch.Generator().manual_seed(0))
    logits[1] += 300
    logits[2, 1] = -torch.inf
    logits[3] = -1e30
    logits[4, 2] = torch.nan
    expected = logits.log_softmax(1)
    torch.testing.assert_close(choice.LogSoftmax()(logits), expected, equal_nan=True, rtol=1e-6, atol=2e-6)


@variations
def test_a_native_encoder_is_the_plain_one(settings: dict[str, Any]) -> None:
    transformer = model(**settings)
    source, lengths = torch.randint(1, VOCABULARY, (3, 7), generator=torch.Generator().manual_seed(1)), [7, 0, 5]
    with torch.inference_mode():
        expected = transformer.encode(source, torch.tensor(lengths))
        transformer.use_native_code("float32")
        found = transformer.encode(source, torch.tensor(lengths))
        assert found.mask is not None and expected.mask is not None and torch.equal(found.mask, expected.mask)
        for i, length in enumerate(lengths):
            off = (found.states[i, :length] - expected.states[i, :length]).abs()
            assert not length or off.max() < 3e-5 * max(1, expected.states.abs().max())
            assert (found.states[i, length:] == 0).all()


def test_many_sentences_on_threads_are_each_what_they_are_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = model()
    transformer.use_native_code("float32")
    draw = torch.Generator().manual_seed(1)
    lengths = torch.cat([torch.randint(0, 23, (61,), generator=draw), torch.tensor([0, 301, 3])])
    source = torch.randint(1, VOCABULARY, (64, 301), generator=draw)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    with torch.inference_mode():
        together = transformer.encode(source, lengths).states
        for i, length in enumerate(lengths.tolist()):
            alone = transformer.encode(source[i : i + 1, :length], torch.tensor([length])).states[0]
            assert torch.equal(together[i, :length], alone)


def test_gradients_are_the_plain_models() -> None:
    transformer = model()
    transformer.use_native_code("float32")
    transformer.encode(torch.tensor([[2, 3]]), torch.tensor([2])).states.sum().backward()
    assert transformer.source_embedding.weight.grad is not None
