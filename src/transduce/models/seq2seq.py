"""Sequence to sequence with one context vector (Sutskever et al. 2014; article 1.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from transduce.layers.dropout import dropout
from transduce.layers.embedding import Embedding, build_embeddings
from transduce.layers.recurrent import Cell, RecurrentStack, reverse
from transduce.layers.tap import tap
from transduce.models.contract import EncoderDecoder, ModelSettings


class Seq2SeqConfig(ModelSettings):
    """A recurrent encoder whose last state is where a recurrent decoder starts; the defaults are Sutskever et al.'s."""

    kind: Literal["seq2seq"] = "seq2seq"
    """Sequence to sequence with one context vector."""
    cell: Cell = "lstm"
    """rnn (h_t = tanh(W x_t + U h_t-1)), gru or lstm."""
    layers: int = Field(4, ge=1)
    """Layers of the encoder, and as many of the decoder."""
    d_model: int = Field(1000, ge=1)
    """Width of embeddings and states."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on embeddings and on each layer's output; none within a recurrence."""
    reverse_source: bool = True
    """Read the source from its end to its beginning, so that its first words are near the output's first."""

    @property
    def capabilities(self) -> frozenset[str]:
        return Seq2Seq.capabilities

    @property
    def longest(self) -> int | None:
        return None

    @property
    def reads_backwards(self) -> bool:
        return self.reverse_source

    def activation_floats(self, length: int) -> int:
        """About 10 vectors of d_model for an LSTM's gates, states and dropout; other cells keep fewer."""
        return 2 * self.layers * 10 * self.d_model

    def build(self, source_vocabulary: int, target_vocabulary: int) -> Seq2Seq:
        return Seq2Seq(self, source_vocabulary, target_vocabulary)


@dataclass(frozen=True, slots=True)
class Seq2SeqMemory:
    """C: the last state of each of the encoder's layers (n = 2 parts, h and c, for an LSTM). All that is kept."""

    context: Float[Tensor, "b l n d"]

    def select(self, rows: Int[Tensor, "r"]) -> Seq2SeqMemory:
        return Seq2SeqMemory(self.context.index_select(0, rows))


@dataclass(frozen=True, slots=True)
class Seq2SeqState:
    """The state of each of the decoder's layers."""

    layers: Float[Tensor, "r l n d"]

    def select(self, rows: Int[Tensor, "n"]) -> Seq2SeqState:
        return Seq2SeqState(self.layers.index_select(0, rows))


class Seq2Seq(EncoderDecoder):
    """p(y_1 … y_m | x) = Π p(y_t | C, y_1 … y_t−1): whatever the source's length, the decoder sees C alone."""

    capabilities = frozenset({"encoder-decoder", "recurrent"})

    def __init__(self, config: Seq2SeqConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model, self.max_positions = target_vocabulary, config.d_model, None
        d, dropout = config.d_model, config.dropout
        self.source_embedding, self.target_embedding, self.projection = build_embeddings(
            config.tie, source_vocabulary, target_vocabulary, d
        )
        self.encoder = RecurrentStack(config.cell, d, d, config.layers, dropout=dropout, name="encoder")
        self.decoder = RecurrentStack(config.cell, d, d, config.layers, dropout=dropout, name="decoder")

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Seq2SeqMemory:
        """Read the source, backwards if so set (then the end mark comes first). Of an empty row C is 0."""
        ids = reverse(source, lengths) if self.config.reverse_source else source
        _, context = self.encoder(self._embed(self.source_embedding, ids, "encoder"), lengths)
        return Seq2SeqMemory(tap("encoder.context", context))

    def hidden(self, previous: Int[Tensor, "b t"], memory: Seq2SeqMemory) -> Float[Tensor, "b t d"]:
        x, _ = self.decoder(self._embed(self.target_embedding, previous, "decoder"), None, memory.context)
        return self._dropout(tap("decoder.output", x))

    def start(self, memory: Seq2SeqMemory, capacity: int) -> Seq2SeqState:
        return Seq2SeqState(memory.context)

    def step(self, previous: Int[Tensor, "r"], state: Seq2SeqState) -> tuple[Float[Tensor, "r v"], Seq2SeqState]:
        embedded = self._embed(self.target_embedding, previous[:, None], "decoder")
        x, after = self.decoder(embedded, None, state.layers)
        return self.project(self._dropout(tap("decoder.output", x))[:, 0]), Seq2SeqState(after)

    def _embed(self, embedding: Embedding, ids: Int[Tensor, "b t"], side: str) -> Float[Tensor, "b t d"]:
        return self._dropout(tap(f"{side}.embedding", embedding(ids)))

    def _dropout(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, self.training)
