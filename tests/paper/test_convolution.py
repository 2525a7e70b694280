"""What convolutions reach (Table 1 and section 4), measured on the real models, and the gate of ConvS2S."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from transduce.layers.convolution import gated_linear_unit
from transduce.layers.tap import record
from transduce.models import ByteNetConfig, ConvS2SConfig, ModelConfig
from transduce.text.specials import BOS, RESERVED

VOCABULARY = 37
SMALL: dict[str, Any] = {"dropout": 0.0, "tie": "all"}


def convs2s(layers: int, kernel: int) -> ModelConfig:
    return ConvS2SConfig(
        encoder_layers=layers, decoder_layers=layers, d_model=5, kernel=kernel, positions="none", **SMALL
    )


def bytenet(layers: int, kernel: int = 3, max_dilation: int = 2**10) -> ModelConfig:
    return ByteNetConfig(
        encoder_layers=layers, decoder_layers=layers, d_model=6, kernel=kernel, max_dilation=max_dilation, stretch=1.0,
        **SMALL,
    )  # fmt: skip


def seen(config: ModelConfig, side: str, length: int, place: int) -> list[int]:
    """Tokens of one side on which the topmost layer's output at `place` depends, by its gradient."""
    model = config.build(VOCABULARY, VOCABULARY).double()
    layer = len(getattr(model, side)) - 1
    heard: dict[str, Tensor] = {}

    def listen(name: str, value: Tensor) -> Tensor:
        if name == f"{side}.embedding":
            value = value.detach().requires_grad_()
        return heard.setdefault(name, value)

    with record(listen):
        run(model, length)
    heard[f"{side}.{layer}.output"][0, place].pow(2).sum().backward()
    gradient = heard[f"{side}.embedding"].grad
    assert gradient is not None
    return gradient[0].abs().sum(-1).nonzero()[:, 0].tolist()


def run(model: Any, length: int) -> None:
    source = torch.randint(RESERVED, VOCABULARY, (1, length))
    previous = torch.cat([torch.full((1, 1), BOS), source[:, 1:]], 1)
    model.hidden(previous, model.encode(source, torch.tensor([length])))


def crosses(config: ModelConfig, length: int) -> bool:
    """Whether the encoder's output at the end of a sentence depends on the beginning."""
    return 0 in seen(config, "encoder", length, length - 1)


@pytest.mark.parametrize(("layers", "kernel"), [(1, 3), (2, 3), (5, 3), (2, 5), (3, 7)])
def test_convs2s_sees_layers_times_kernel_less_one_and_itself(layers: int, kernel: int) -> None:
    field, config = layers * (kernel - 1) + 1, convs2s(layers, kernel)
    middle = field // 2 + 3
    assert seen(config, "encoder", 2 * middle + 1, middle) == list(range(3, 3 + field))
    # The same field lies in the decoder's past: it is causal.
    assert seen(config, "decoder", field + 7, field + 2) == list(range(3, 3 + field))


@pytest.mark.parametrize(("layers", "kernel"), [(1, 3), (2, 3), (4, 3), (3, 5)])
def test_doubled_dilation_sees_exponentially_far_and_leaves_no_gap(layers: int, kernel: int) -> None:
    field, config = (2**layers - 1) * (kernel - 1) + 1, bytenet(layers, kernel)
    middle = field // 2 + 3
    assert seen(config, "encoder", 2 * middle + 1, middle) == list(range(3, 3 + field))
    assert seen(config, "decoder", field + 7, field + 2) == list(range(3, 3 + field))


def test_a_capped_dilation_sees_as_much_more_with_each_repetition() -> None:
    # Dilations 1, 2, 4, 1, 2, 4: each set sees 7·(3 − 1) more.
    for sets in (1, 2, 3):
        field = sets * 7 * 2 + 1
        assert seen(bytenet(3 * sets, max_dilation=4), "encoder", field + 6, field // 2 + 3) == list(
            range(3, field + 3)
        )


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("length", [5, 17, 33])
def test_table_1_plain_convolutions_cross_a_sentence_in_n_over_k_layers_dilated_ones_in_log_n(
    length: int, kernel: int
) -> None:
    steps = (length - 1) / (kernel // 2)
    for build, layers in ((convs2s, math.ceil(steps)), (bytenet, math.ceil(math.log2(steps + 1)))):
        assert crosses(build(layers, kernel), length)
        assert layers == 1 or not crosses(build(layers - 1, kernel), length)


def test_a_gated_linear_unit_is_one_half_times_the_sigmoid_of_the_other() -> None:
    # σ(0) = 1/2, σ(ln 3) = 3/4, σ(−ln 4) = 1/5.
    a, b = [2.0, -1.0, 10.0], [0.0, math.log(3), -math.log(4)]
    assert gated_linear_unit(torch.tensor([[a + b]])).flatten().tolist() == pytest.approx([1.0, -0.75, 2.0])
