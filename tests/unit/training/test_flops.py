"""Operations are counted as PyTorch's counter counts them."""

from __future__ import annotations

import pytest
from torch.utils.flop_counter import FlopCounterMode

from transduce.layers.tap import record
from transduce.models.bytenet import ByteNetConfig
from transduce.models.contract import ModelSettings
from transduce.models.convs2s import ConvS2SConfig
from transduce.models.transformer import TransformerConfig
from transduce.tasks.translate import Translate
from transduce.training.flops import flops_per_token, padded_tokens

SMALL = {
    "transformer": TransformerConfig(encoder_layers=1, decoder_layers=2, d_model=16, d_ff=24, heads=2),
    "convs2s": ConvS2SConfig(d_model=16, encoder_layers=1, decoder_layers=1),
    "bytenet": ByteNetConfig(d_model=16),
}


@pytest.mark.parametrize("config", SMALL.values(), ids=list(SMALL))
def test_the_count_is_that_of_pytorchs_counter(config: ModelSettings) -> None:
    model, task = config.build(37, 37), Translate()
    batch = task.batch([[22, 23, 24], [25]], [[26, 27], [28, 29, 30]], [0, 1])
    with record(lambda _, value: value), FlopCounterMode(display=False) as counter:
        task.loss(model, batch, 0.0).backward()
    found = flops_per_token(model, task, batch) * padded_tokens(batch)
    assert found == pytest.approx(counter.get_total_flops()) and found > 1000
    assert all(parameter.grad is None for parameter in model.parameters())
