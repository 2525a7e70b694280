"""The decoder half alone: GPT (Radford et al. 2018), in the pre-norm form of GPT-2 (2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from transduce.layers.blocks import BlockSizes
from transduce.layers.decoder_only import CausalLayer
from transduce.layers.dropout import dropout
from transduce.layers.embedding import Embedding
from transduce.layers.grid import Past
from transduce.layers.position import LearnedPositions
from transduce.layers.tap import tap
from transduce.models.contract import LanguageModel, ModelSettings


class GptConfig(ModelSettings):
    """A decoder that goes on with a text; the defaults are the smallest GPT-2."""

    kind: Literal["gpt"] = "gpt"
    """The decoder half: what comes next in a text (task `generate`)."""
    layers: int = Field(12, ge=1)
    """N, layers."""
    d_model: int = Field(768, ge=1)
    """Width of every vector between sub-layers."""
    d_ff: int = Field(3072, ge=1)
    """Inner width of the feed-forward networks."""
    heads: int = Field(12, ge=1)
    """h, attention heads; they divide d_model."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """On every sub-layer's output and on the sum of embedding and position."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on the attention weights."""
    max_positions: int = Field(1024, ge=1)
    """Longest text in tokens, end mark included."""
    tie: Literal["all"] = "all"
    """Embedding and projection are one matrix."""

    @model_validator(mode="after")
    def _heads_divide(self) -> GptConfig:
        if self.d_model % self.heads:
            raise ValueError(f"heads = {self.heads} does not divide d_model = {self.d_model}; choose heads that do")
        return self

    @property
    def capabilities(self) -> frozenset[str]:
        return Gpt.capabilities

    @property
    def longest(self) -> int | None:
        return self.max_positions

    def activation_floats(self, length: int) -> int:
        """About 14 vectors of d_model and 2 of d_ff a layer; fused attention keeps no weights."""
        return self.layers * (14 * self.d_model + 2 * self.d_ff)

    def build(self, source_vocabulary: int, target_vocabulary: int) -> Gpt:
        return Gpt(self, target_vocabulary)


@dataclass(frozen=True, slots=True)
class GptMemory:
    """Nothing, b rows of it: there is no source to remember."""

    nothing: Int[Tensor, "b 0"]

    def select(self, rows: Int[Tensor, "r"]) -> GptMemory:
        return GptMemory(self.nothing.index_select(0, rows))


@dataclass(frozen=True, slots=True)
class GptState:
    """Keys and values of the tokens so far, for each layer."""

    pasts: tuple[Past, ...]

    def select(self, rows: Int[Tensor, "n"]) -> GptState:
        return GptState(tuple(past.select(rows) for past in self.pasts))


class Gpt(LanguageModel):
    """Pre-norm causal layers on the sum of embedding and learned position, a norm, and the embedding as projection.

    Unlike GPT-2's, weights start as the Transformer's do (Glorot).
    """

    def __init__(self, config: GptConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model = vocabulary, config.d_model
        self.max_positions = config.longest
        sizes = BlockSizes(
            d_model=config.d_model,
            d_ff=config.d_ff,
            heads=config.heads,
            d_k=None,
            d_v=None,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            activation="gelu",
            norm="pre",
            residual=True,
        )
        self.source_embedding = Embedding(vocabulary, config.d_model, scaled=False)
        self.positions = LearnedPositions(config.d_model, config.max_positions)
        self.decoder = nn.ModuleList(CausalLayer(sizes, f"decoder.{i}") for i in range(config.layers))
        self.decoder_norm = nn.LayerNorm(config.d_model)
        self.projection = self.source_embedding.weight

    def hidden(self, previous: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:
        x = self._embed(previous)
        for i, layer in enumerate(self.decoder):
            x = tap(f"decoder.{i}.output", layer(x))
        return tap("decoder.output", self.decoder_norm(x))

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> GptMemory:
        return GptMemory(source[:, :0])

    def start(self, memory: GptMemory, capacity: int) -> GptState:
        nothing = self.source_embedding(memory.nothing)
        return GptState(tuple(layer.start(nothing) for layer in self.decoder))  # type: ignore[operator]

    def step(self, previous: Int[Tensor, "r"], state: GptState) -> tuple[Float[Tensor, "r v"], GptState]:
        """One token further."""
        x = self._embed(previous[:, None], start=state.pasts[0].seen)
        pasts = []
        for i, layer in enumerate(self.decoder):
            x, past = layer.step(x, state.pasts[i])  # type: ignore[operator]
            pasts.append(past)
            x = tap(f"decoder.{i}.output", x)
        return self.project(tap("decoder.output", self.decoder_norm(x))[:, 0]), GptState(tuple(pasts))

    def _embed(self, ids: Int[Tensor, "b t"], start: int = 0) -> Float[Tensor, "b t d"]:
        x = tap("decoder.embedding", self.source_embedding(ids))
        x = tap("decoder.input", self.positions(x, start))
        return dropout(x, self.config.dropout, self.training)
