"""Decoding in buffers of fixed shape against the model's own steps, while rows are picked, repeated and dropped.

A CUDA graph can be recorded on a GPU only. Here the step that would be recorded is called each time, on the memory that
a graph would be bound to.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from tests.support.copy_run import load
from tests.unit.acceleration.test_native import LENGTHS, VOCABULARY, logits, model, variations
from transduce.acceleration import graphs
from transduce.acceleration.graphs import replayable
from transduce.acceleration.inference import accelerate
from transduce.devices import Compute
from transduce.layers import fixed
from transduce.layers.fixed import Buffers, FixedState
from transduce.layers.tap import record
from transduce.models.transformer import Transformer, TransformerState
from transduce.search import DecodingConfig
from transduce.tasks.translate import Translate

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Buffers]:
    """All buffers that are allocated."""
    found: list[Buffers] = []
    original = Buffers.__init__

    def init(self: Buffers, *arguments: Any) -> None:
        original(self, *arguments)
        found.append(self)

    monkeypatch.setattr(Buffers, "__init__", init)
    return found


def started(transformer: Transformer) -> Any:
    source = torch.randint(1, VOCABULARY, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(1))
    return transformer.start(transformer.encode(source, torch.tensor(LENGTHS)), 9)


@variations
def test_a_step_in_fixed_buffers_is_the_plain_one(settings: dict[str, Any]) -> None:
    transformer = model(**settings)
    expected = logits(transformer)
    transformer.use_graphs()
    for found, wanted in zip(logits(transformer), expected, strict=True):
        assert (found - wanted).abs().max() < 1e-5 * max(1, wanted.abs().max())


def test_a_long_search_moves_to_larger_rooms(made: list[Buffers]) -> None:
    transformer = model()
    expected = logits(transformer, steps=97, most=3)
    transformer.use_graphs()
    for found, wanted in zip(logits(transformer, steps=97, most=3), expected, strict=True):
        assert (found - wanted).abs().max() < 1e-5 * max(1, wanted.abs().max())
    assert len({buffers.shape.room for buffers in made}) > 2


@torch.inference_mode()
def test_two_that_go_on_from_one_state_do_not_write_into_one_another(made: list[Buffers]) -> None:
    transformer = model()
    plain = started(transformer)
    transformer.use_graphs()
    fixed = started(transformer)
    assert isinstance(plain, TransformerState) and isinstance(fixed, FixedState)
    first, others = torch.ones(5, dtype=torch.int64), [torch.full((5,), token) for token in (7, 8)]
    _, plain = transformer.step(first, plain)
    _, fixed = transformer.step(first, fixed)
    rows = torch.tensor([4, 0, 2, 1, 3])
    ways = [(token, plain.select(rows), fixed.select(rows)) for token in others]
    for _ in range(3):
        for number, (token, one, other) in enumerate(ways):
            wanted, one = transformer.step(token, one)
            found, other = transformer.step(token, other)
            torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
            ways[number] = token, one, other
    assert len(made) == 2, "the second got buffers of its own"


@torch.inference_mode()
def test_buffers_are_used_again_once_their_search_is_over_and_not_before(made: list[Buffers]) -> None:
    transformer = model()
    transformer.use_graphs()
    previous = torch.ones(5, dtype=torch.int64)
    living = transformer.step(previous, started(transformer))[1]
    expected = transformer.step(previous, transformer.step(previous, started(transformer))[1])[0]
    assert len(made) == 2
    found, living = transformer.step(previous, living)
    torch.testing.assert_close(found, expected)
    del living
    gc.collect()
    again = transformer.step(previous, transformer.step(previous, started(transformer))[1])[0]
    torch.testing.assert_close(again, expected)
    assert len(made) == 2


def test_buffers_are_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch, made: list[Buffers]) -> None:
    transformer = model()
    transformer.use_graphs()
    expected = logits(transformer)
    shapes = len(made)
    for found, wanted in zip(logits(transformer), expected, strict=True):
        assert torch.equal(found, wanted)
    assert len(made) == shapes > 2
    monkeypatch.setattr(fixed, "KEPT", 0)
    for found, wanted in zip(logits(transformer), expected, strict=True):
        assert torch.equal(found, wanted)
    assert len(made) > shapes


def test_buffers_serve_with_and_without_inference_mode() -> None:
    transformer = model()
    transformer.use_graphs()
    previous = torch.ones(5, dtype=torch.int64)
    with torch.inference_mode():
        expected = transformer.step(previous, started(transformer))[0].clone()
    gc.collect()
    with torch.no_grad():
        torch.testing.assert_close(transformer.step(previous, started(transformer))[0], expected)


def test_a_search_finds_the_same(copy_run: Any) -> None:
    """Beams that grow, change places and end, of a trained model."""
    translator = load(copy_run)
    (transformer,) = translator.models
    sources = [translator.tokenizers.source.encode(text) for text in ("red", "one two red", "", "blue two one one two")]
    wanted = {beam: Translate().decode(transformer, sources, DecodingConfig(beam=beam, nbest=beam)) for beam in (1, 5)}
    transformer.use_graphs()
    for beam, expected in wanted.items():
        found = Translate().decode(transformer, sources, DecodingConfig(beam=beam, nbest=beam))
        assert [[h.ids for h in of] for of in found] == [[h.ids for h in of] for of in expected]
        assert [h.score for of in found for h in of] == pytest.approx([h.score for of in expected for h in of], 1e-4)


def test_whoever_looks_inside_sees_the_equations() -> None:
    transformer = model()
    transformer.use_graphs()
    names: list[str] = []
    with torch.inference_mode(), record(lambda name, value: names.append(name) or value):
        assert isinstance(started(transformer), TransformerState)
    assert "encoder.0.self.weights" in names
    assert isinstance(started(transformer), TransformerState), "gradients are wanted"


def test_on_cuda_a_function_is_recorded_once_after_it_has_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of things, with a stand-in for the device."""
    said: list[str] = []

    class Stream:
        def __init__(self, *_: Any) -> None:
            pass

        def wait_stream(self, other: Any) -> None:
            said.append("wait")

    class Graph:
        def replay(self) -> None:
            said.append("replay")

    @contextmanager
    def stream(aside: Stream) -> Any:
        said.append("aside")
        yield

    @contextmanager
    def recording(graph: Graph, capture_error_mode: str) -> Any:
        assert not torch.is_autocast_cache_enabled()
        said.append("record")
        yield
        said.append("recorded")

    for name, value in {"Stream": Stream, "stream": stream, "CUDAGraph": Graph, "graph": recording}.items():
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    calls: list[Any] = []

    def function() -> torch.Tensor:
        said.append("call")
        calls.append(torch.full((2,), len(calls)))
        return calls[-1]

    replay = replayable(function, torch.device("cuda"))
    assert said == ["wait", "aside", *["call"] * graphs.WARM_UP, "wait", "record", "call", "recorded"]
    assert torch.is_autocast_cache_enabled()
    assert replay() is replay() is calls[-1]
    assert said[-3:] == ["recorded", "replay", "replay"]


def test_a_model_on_cuda_uses_them_and_says_so() -> None:
    compute = Compute(torch.device("cuda"), "bf16", 1, 1)
    transformer = model()
    assert accelerate(transformer, compute, "none") == "bf16 on cuda, steps by CUDA graphs"
    with torch.inference_mode():
        assert isinstance(started(transformer), FixedState)
    assert accelerate(torch.nn.Linear(3, 5), compute, "none") == "bf16 on cuda"
    alike = model()
    assert accelerate(alike, compute, "none", native_code=False) == "bf16 on cuda"
    with torch.inference_mode():
        assert isinstance(started(alike), TransformerState)
