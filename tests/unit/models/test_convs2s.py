"""ConvS2S: what its attention asks and reads, how gradients of the encoder are scaled, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.contracts.variations import SOURCE, TARGET, close, example, shaken, teacher_forced
from transduce.layers.tap import record
from transduce.models import ConvS2SConfig
from transduce.models.convs2s import ConvS2SMemory

WIDTH, LAYERS = 13, 3


@pytest.fixture
def model() -> Any:
    config = ConvS2SConfig(encoder_layers=2, decoder_layers=LAYERS, d_model=WIDTH, dropout=0.0)
    return shaken(config.build(37, 37)).eval()


def heard_by(model: Any) -> tuple[dict[str, Tensor], Tensor]:
    """Every tap of a pass over a padded example, and the lengths of its source."""
    given = example(model)
    heard: dict[str, Tensor] = {}
    with record(lambda name, value: heard.setdefault(name, value)):
        teacher_forced(model, given)
    return heard, given.source.lengths


def test_every_layer_asks_with_its_state_and_the_token_and_reads_states_with_embeddings(model: Any) -> None:
    heard, lengths = heard_by(model)
    z, e, g = heard["encoder.output"], heard["encoder.input"], heard["decoder.input"]
    for i, layer in enumerate(model.decoder):
        h = heard[f"decoder.{i}.values"] * heard[f"decoder.{i}.gate"]
        d = (h @ layer.W_d.weight.T + layer.W_d.bias + g) * math.sqrt(0.5)
        for row, m in enumerate(lengths.tolist()):
            weights = (d[row] @ z[row, :m].T).softmax(-1)
            close(heard[f"decoder.{i}.cross.weights"][row, 0, :, :m], weights)
            context = sum(weights[:, j, None] * (z + e)[row, j] * math.sqrt(0.5) for j in range(m))
            close(heard[f"decoder.{i}.cross.context"][row], context)
    assert heard["decoder.2.cross.weights"].shape == (3, 1, TARGET, SOURCE)


def test_a_context_is_scaled_by_the_root_of_its_own_sources_length(model: Any) -> None:
    heard, lengths = heard_by(model)
    layer = model.decoder[1]
    h = heard["decoder.1.values"] * heard["decoder.1.gate"]
    context = heard["decoder.1.cross.context"] * lengths.sqrt()[:, None, None]
    c = context @ layer.W_c.weight.T + layer.W_c.bias
    half = math.sqrt(0.5)
    close(heard["decoder.1.output"], ((c + h) * half + heard["decoder.0.output"]) * half)


def test_the_encoders_gradient_is_divided_by_twice_the_layers_that_attend(model: Any) -> None:
    given = example(model, lengths=(5,))
    seen: dict[str, Tensor] = {}

    def listen(name: str, value: Tensor) -> Tensor:
        if name == "encoder.output":
            value.retain_grad()
            seen["z"] = value
        return value

    with record(listen):
        memory = model.encode(given.source.ids, given.source.lengths)
    assert torch.equal(memory.states, seen["z"])
    for part in (memory.states, memory.values):
        part.retain_grad()
    model.project(model.hidden(given.previous, memory)).logsumexp(-1).sum().backward()
    assert seen["z"].grad is not None and memory.states.grad is not None and memory.values.grad is not None
    # What memory.states is given holds what comes through the values too.
    close(seen["z"].grad, memory.states.grad / (2 * LAYERS))
    assert memory.values.grad.abs().max() > 1e-3


def test_embeddings_start_small_so_that_attention_starts_undecided() -> None:
    model = ConvS2SConfig(encoder_layers=2, decoder_layers=2, d_model=128, dropout=0.0).build(37, 37)
    heard, _ = heard_by(model)
    words = 0.1 * heard["encoder.embedding"]
    for part in (words, heard["encoder.input"] - words):
        assert part.std().item() == pytest.approx(0.1, rel=0.1)
    weights = heard["decoder.1.cross.weights"][0]
    assert weights.max().item() < 3 / SOURCE


def test_without_positions_a_bag_of_encoder_states_is_all_that_attention_sees(model: Any) -> None:
    given = example(model, lengths=(5,))
    memory = model.encode(given.source.ids, given.source.lengths)
    order = torch.tensor([3, 0, 4, 1, 2])
    shuffled = ConvS2SMemory(memory.states[:, order], memory.values[:, order], memory.mask, memory.scale)
    close(model.hidden(given.previous, shuffled), model.hidden(given.previous, memory))


def test_a_kernel_that_has_no_middle_is_refused() -> None:
    with pytest.raises(ValueError, match="expected an odd number, 3 or 5"):
        ConvS2SConfig(kernel=4)
