"""The encoder half alone: BERT (Devlin et al. 2018)."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from transduce.layers.blocks import BlockSizes, EncoderLayer
from transduce.layers.dropout import dropout
from transduce.layers.embedding import Embedding
from transduce.layers.initialise import glorot_uniform, zeros
from transduce.layers.masks import padding_mask
from transduce.layers.position import LearnedPositions
from transduce.layers.tap import tap
from transduce.models.contract import Encoder, ModelSettings, Pooling


class BertConfig(ModelSettings):
    """An encoder that sees a text from both sides; the defaults are BERT base."""

    kind: Literal["bert"] = "bert"
    """The encoder half: what stands at a blank (task `mask`), what a text is (`classify`), or what each token is
    (`label`)."""
    layers: int = Field(12, ge=1)
    """N, layers."""
    d_model: int = Field(768, ge=1)
    """Width of every vector between sub-layers."""
    d_ff: int = Field(3072, ge=1)
    """Inner width of the feed-forward networks."""
    heads: int = Field(12, ge=1)
    """h, attention heads; they divide d_model."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """On every sub-layer's output and on the normalised sum of embedding and position."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on the attention weights."""
    max_positions: int = Field(512, ge=2)
    """Longest text in tokens, start and end mark included."""
    tie: Literal["all", "none"] = "all"
    """One matrix for embedding and projection (all), as filling blanks has it; or the projection has its own (none),
    which labels need."""

    @model_validator(mode="after")
    def _heads_divide(self) -> BertConfig:
        if self.d_model % self.heads:
            raise ValueError(f"heads = {self.heads} does not divide d_model = {self.d_model}; choose heads that do")
        return self

    @property
    def capabilities(self) -> frozenset[str]:
        return Bert.capabilities

    @property
    def longest(self) -> int | None:
        return self.max_positions

    def activation_floats(self, length: int) -> int:
        """About 14 vectors of d_model and 2 of d_ff a layer; fused attention keeps no weights."""
        return self.layers * (14 * self.d_model + 2 * self.d_ff)

    def build(self, source_vocabulary: int, target_vocabulary: int) -> Bert:
        return Bert(self, source_vocabulary, target_vocabulary)


class Bert(Encoder):
    """Post-norm encoder layers on the normalised sum of embedding and learned position.

    Departures: texts have no second segment, so a published model's first segment vector is part of its positions;
    the projection to words has no bias, as in the rest of the family (3.4).
    """

    def __init__(self, config: BertConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model = target_vocabulary, config.d_model
        self.max_positions = config.longest
        d = config.d_model
        sizes = BlockSizes(
            d_model=d,
            d_ff=config.d_ff,
            heads=config.heads,
            d_k=None,
            d_v=None,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            activation="gelu",
            norm="post",
            residual=True,
        )
        self.source_embedding = Embedding(source_vocabulary, d, scaled=False)
        self.positions = LearnedPositions(d, config.max_positions)
        # Not torch's 1e-5: embeddings are so small that it would count (0.3 % of a published model's variance).
        self.embedding_norm = nn.LayerNorm(d, eps=1e-12)
        self.encoder = nn.ModuleList(EncoderLayer(sizes, f"encoder.{i}") for i in range(config.layers))
        self.W_head = nn.Linear(d, d)
        self.head_norm = nn.LayerNorm(d)
        self.projection = self.source_embedding.weight
        glorot_uniform(self.W_head.weight)
        zeros([self.W_head.bias])
        if config.tie == "none":
            self.projection = nn.Parameter(torch.empty(target_vocabulary, d))
            glorot_uniform(self.projection)

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s d"]:
        """A vector for every token, from all tokens of its row. What stands at padding means nothing."""
        mask = padding_mask(lengths, source.shape[1], source.device)
        x = tap("encoder.embedding", self.source_embedding(source))
        x = tap("encoder.input", self.embedding_norm(self.positions(x)))
        x = dropout(x, self.config.dropout, self.training)
        for i, layer in enumerate(self.encoder):
            x = tap(f"encoder.{i}.output", layer(x, mask))
        return tap("encoder.output", x)

    def hidden(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s d"]:
        """What is projected to words or labels: LayerNorm(GELU(W x + b)) of each vector."""
        return tap("head.output", self.head_norm(F.gelu(self.W_head(self.encode(source, lengths)))))

    def pool(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"], pooling: Pooling) -> Float[Tensor, "b d"]:
        states = self.encode(source, lengths)
        if pooling == "first":
            return states[:, 0]
        real = torch.arange(source.shape[1]) < lengths[:, None]
        weights = real / lengths.clamp(min=1)[:, None]
        return (states * weights[..., None].to(states)).sum(1)
