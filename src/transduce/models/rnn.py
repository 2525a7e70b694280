"""A recurrent network alone: an output after each input (article 1.4)."""

from __future__ import annotations

from typing import Literal

from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from transduce.layers.dropout import dropout
from transduce.layers.embedding import build_embeddings
from transduce.layers.recurrent import Cell, RecurrentStack
from transduce.layers.tap import tap
from transduce.models.contract import Labeller, ModelSettings


class RnnConfig(ModelSettings):
    """Reads a token, writes a token, reads the next: as many out as in."""

    kind: Literal["rnn"] = "rnn"
    """A recurrent network without encoder and decoder."""
    tie: Literal["all", "none"] = "none"
    """One matrix for embedding and projection (all), or two (none)."""
    cell: Cell = "rnn"
    """rnn (h_t = tanh(W x_t + U h_t-1)), gru or lstm."""
    layers: int = Field(1, ge=1)
    """Layers, each reading what the one below it wrote."""
    d_model: int = Field(512, ge=1)
    """Width of embeddings and states."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on embeddings and on each layer's output; none within a recurrence."""

    @property
    def capabilities(self) -> frozenset[str]:
        return Rnn.capabilities

    @property
    def longest(self) -> int | None:
        return None

    def activation_floats(self, length: int) -> int:
        """About 10 vectors of d_model a layer for an LSTM's gates, states and dropout; other cells keep fewer."""
        return self.layers * 10 * self.d_model

    def build(self, source_vocabulary: int, target_vocabulary: int) -> Rnn:
        return Rnn(self, source_vocabulary, target_vocabulary)


class Rnn(Labeller):
    """h_t = g(W x_t + U h_{t−1}) and y_t = g(V h_t), g = tanh in the first, softmax in the second.

    V is `projection`. Each y_t follows from x_1 … x_t: what comes later in the source is not known yet.
    """

    capabilities = frozenset({"labeller", "recurrent"})

    def __init__(self, config: RnnConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model, self.max_positions = target_vocabulary, config.d_model, None
        d = config.d_model
        self.source_embedding, _, self.projection = build_embeddings(
            config.tie, source_vocabulary, target_vocabulary, d
        )
        self.recurrent = RecurrentStack(config.cell, d, d, config.layers, dropout=config.dropout, name="recurrent")

    def hidden(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s d"]:
        x = self._dropout(tap("embedding", self.source_embedding(source)))
        h, _ = self.recurrent(x, lengths)
        return self._dropout(tap("output", h))

    def _dropout(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, self.training)
