"""The models learn: short sequences copied, reversed and sorted, at least 99 in 100 without a fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from transduce.models import (
    ByteNetConfig,
    ConvS2SConfig,
    ModelConfig,
    RnnSearchConfig,
    Seq2SeqConfig,
    TransformerConfig,
)
from transduce.models.contract import EncoderDecoder
from transduce.search import DecodingConfig
from transduce.tasks.translate import Translate
from transduce.text.specials import RESERVED

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

LETTERS, LONGEST = 11, 5
ROWS, WARMUP, PEAK = 64, 50, 5e-3

Rule = Callable[[list[int]], list[int]]

LEARNERS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=64, d_ff=128, heads=4, dropout=0.0),
    "rnn-search": RnnSearchConfig(d_model=32),
    "seq2seq": Seq2SeqConfig(layers=1, d_model=128),
    "convs2s": ConvS2SConfig(encoder_layers=2, decoder_layers=2, d_model=64, dropout=0.0, max_positions=16),
    "bytenet": ByteNetConfig(encoder_layers=3, decoder_layers=3, d_model=64),
}


def sequences(count: int) -> list[list[int]]:
    lengths = torch.randint(1, LONGEST + 1, (count,)).tolist()
    return [torch.randint(RESERVED, RESERVED + LETTERS, (length,)).tolist() for length in lengths]


def train(model: EncoderDecoder, rule: Rule, updates: int) -> None:
    """Adam; the learning rate rises over `WARMUP` updates and then falls to zero."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    task = Translate()
    for update in range(1, updates + 1):
        for group in optimizer.param_groups:
            group["lr"] = PEAK * min(update / WARMUP, (updates + 1 - update) / (updates + 1 - WARMUP))
        sources = sequences(ROWS)
        batch = task.batch(sources, [rule(source) for source in sources], range(ROWS))
        optimizer.zero_grad()
        (task.loss(model, batch, smoothing=0.0) / batch["expected"].lengths.sum()).backward()
        optimizer.step()


@pytest.mark.parametrize("config", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize(
    ("rule", "updates"),
    [(lambda ids: ids, 300), (lambda ids: ids[::-1], 600), (sorted, 600)],
    ids=["copy", "reverse", "sort"],
)
def test_learns(config: ModelConfig, rule: Rule, updates: int) -> None:
    model = config.build(RESERVED + LETTERS, RESERVED + LETTERS)
    train(model, rule, updates)
    unseen = sequences(300)
    found = Translate().decode(model, unseen, DecodingConfig(beam=1))
    right = sum(list(h.ids) == rule(source) for source, (h,) in zip(unseen, found, strict=True))
    assert right >= 297
