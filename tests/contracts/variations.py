"""Every model and its variations, small: what the contract tests run over.

A new model joins the union `ModelConfig` and this list; `test_registry` holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import nn

from transduce.data.batch import Stream
from transduce.models import (
    BertConfig,
    ByteNetConfig,
    ConvS2SConfig,
    FeedForwardConfig,
    GptConfig,
    MemoryNetworkConfig,
    ModelConfig,
    RnnConfig,
    RnnSearchConfig,
    Seq2SeqConfig,
    TransformerConfig,
)
from transduce.text.specials import BOS, RESERVED

# A different prime for each axis, so that a swapped axis cannot hide.
BATCH, SOURCE, TARGET = 3, 11, 7
SOURCE_VOCABULARY, TARGET_VOCABULARY = 37, 41
POSITIONS = 31


@dataclass(frozen=True)
class Variation:
    name: str
    config: ModelConfig

    def build(self, *vocabularies: int) -> Any:
        """A model in eval mode whose every weight counts: biases and gains are no longer 0 and 1."""
        if not vocabularies:
            joint = getattr(self.config, "tie", "none") == "all"
            vocabularies = (SOURCE_VOCABULARY, SOURCE_VOCABULARY if joint else TARGET_VOCABULARY)
        return shaken(self.config.build(*vocabularies)).eval()


def shaken(model: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def _transformer(name: str, **changes: Any) -> Variation:
    sizes = {
        "encoder_layers": 2, "decoder_layers": 2, "d_model": 26, "d_ff": 29, "heads": 2, "dropout": 0.0,
        "max_positions": POSITIONS,
    }  # fmt: skip
    return Variation(name, TransformerConfig(**{**sizes, **changes}))


def _seq2seq(name: str, **changes: Any) -> Variation:
    return Variation(name, Seq2SeqConfig(**{"layers": 2, "d_model": 13, **changes}))


def _rnn_search(name: str, **changes: Any) -> Variation:
    return Variation(name, RnnSearchConfig(**{"d_model": 14, **changes}))


def _convs2s(name: str, **changes: Any) -> Variation:
    sizes = {"encoder_layers": 2, "decoder_layers": 3, "d_model": 13, "dropout": 0.0, "max_positions": POSITIONS}
    return Variation(name, ConvS2SConfig(**{**sizes, **changes}))


def _bytenet(name: str, **changes: Any) -> Variation:
    sizes = {"encoder_layers": 4, "decoder_layers": 4, "d_model": 26, "max_dilation": 4}
    return Variation(name, ByteNetConfig(**{**sizes, **changes}))


def _rnn(name: str, **changes: Any) -> Variation:
    return Variation(name, RnnConfig(**{"d_model": 13, **changes}))


def _feed_forward(name: str, **changes: Any) -> Variation:
    sizes = {"d_model": 13, "d_ff": 29, "max_positions": POSITIONS}
    return Variation(name, FeedForwardConfig(**{**sizes, **changes}))


HALF = {"layers": 2, "d_model": 26, "d_ff": 29, "heads": 2, "dropout": 0.0, "attention_dropout": 0.0,
        "max_positions": POSITIONS}  # fmt: skip


def _bert(name: str, **changes: Any) -> Variation:
    return Variation(name, BertConfig(**{**HALF, **changes}))


def _gpt(name: str, **changes: Any) -> Variation:
    return Variation(name, GptConfig(**{**HALF, **changes}))


def _memory_network(name: str, **changes: Any) -> Variation:
    return Variation(name, MemoryNetworkConfig(**{"d_model": 13, **changes}))


VARIATIONS = (
    _transformer("transformer"),
    _transformer("pre-norm", norm="pre"),
    _transformer("no-norm", norm="none"),
    # One layer each: without residuals two forget what stands where so far that whole outputs tie.
    _transformer("no-residual", residual=False, encoder_layers=1, decoder_layers=1),
    _transformer("learned-positions", positions="learned"),
    _transformer("scalar-positions", positions="scalar"),
    _transformer("no-positions", positions="none"),
    _transformer("gelu", activation="gelu"),
    _transformer("swiglu", activation="swiglu"),
    _transformer("d_k-not-d_v", d_model=19, d_k=5, d_v=13),
    _transformer("tied-target", tie="target"),
    _transformer("untied", tie="none", norm="pre", d_model=19, d_k=17, d_v=5),
    _transformer("one-and-three-layers", encoder_layers=1, decoder_layers=3),
    _seq2seq("seq2seq"),
    _seq2seq("seq2seq-forwards", cell="gru", reverse_source=False, tie="target"),
    _seq2seq("seq2seq-rnn", cell="rnn", layers=1, tie="all"),
    _rnn_search("rnn-search"),
    _rnn_search("rnn-search-dot", cell="lstm", layers=2, attention="dot", tie="all"),
    _rnn_search("rnn-search-general", cell="rnn", layers=2, attention="general", tie="target"),
    _convs2s("convs2s"),
    _convs2s("convs2s-wide-kernel", kernel=5, encoder_layers=1, decoder_layers=3, positions="sinusoidal", tie="target"),
    _convs2s("convs2s-no-positions", positions="none", tie="all"),
    _bytenet("bytenet"),
    _bytenet("bytenet-stretched", encoder_layers=2, kernel=5, max_dilation=2, stretch=1.7, tie="target"),
    _bytenet("bytenet-tied", decoder_layers=2, stretch=1.0, tie="all"),
    _feed_forward("feed-forward-mean", input="mean"),
    _feed_forward("feed-forward-concat", input="concat"),
    _feed_forward("feed-forward-tied", input="concat", tie="all"),
    _rnn("rnn"),
    _rnn("rnn-lstm", cell="lstm", layers=2),
    _rnn("rnn-gru-tied", cell="gru", tie="all"),
    _bert("bert"),
    _bert("bert-untied", layers=1, heads=1, d_model=19, tie="none"),
    _gpt("gpt"),
    _gpt("gpt-three-layers", layers=3, d_model=22),
    _memory_network("memory-network"),
    _memory_network("memory-network-one-hop", hops=1, sentence="bag", memories=2),
)


def tensors(tree: Any) -> list[torch.Tensor]:
    """The tensors of a Memory or State, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    parts = [getattr(tree, f.name) for f in fields(tree)] if is_dataclass(tree) else tree
    return [x for part in parts for x in tensors(part)] if isinstance(parts, list | tuple) else []


def having(capability: str) -> list[Variation]:
    """The variations whose model declares a capability."""
    return [v for v in VARIATIONS if capability in v.config.build(RESERVED, RESERVED).capabilities]


@dataclass(frozen=True)
class Example:
    """A padded batch of random text for a model: `previous` begins with BOS and is nowhere padded."""

    source: Stream
    previous: torch.Tensor


def example(model: Any, lengths: tuple[int, ...] = (SOURCE, 5, 2), target: int = TARGET) -> Example:
    rows = [random_text(SOURCE_VOCABULARY, n) for n in lengths]
    starts = torch.full((len(rows), 1), BOS)
    text = torch.randint(RESERVED, model.vocabulary, (len(rows), target - 1))
    return Example(Stream.pad(rows), torch.cat([starts, text], dim=1))


def random_text(vocabulary: int, length: int) -> list[int]:
    return torch.randint(RESERVED, vocabulary, (length,)).tolist()


def teacher_forced(model: Any, given: Example) -> torch.Tensor:
    """Logits [b t v] in one pass."""
    if "language-model" in model.capabilities:
        return model(given.previous)
    return model(given.source.ids, given.source.lengths, given.previous)


def stepped(model: Any, given: Example) -> torch.Tensor:
    """Logits [b t v], one token at a time."""
    state = model.start(model.encode(given.source.ids, given.source.lengths), given.previous.shape[1])
    steps = []
    for t in range(given.previous.shape[1]):
        logits, state = model.step(given.previous[:, t], state)
        steps.append(logits)
    return torch.stack(steps, dim=1)


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Equal to 1e-5 of the largest value: without normalisation logits grow, and fp32's rounding with them."""
    scale = max(1.0, float(expected.detach().abs().max()))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-5 * scale)
