"""Recurrent encoder and decoder with attention between them (Bahdanau et al. 2014; article 1.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from transduce.layers.additive_attention import Score, SourceAttention
from transduce.layers.dropout import dropout
from transduce.layers.embedding import Embedding, build_embeddings
from transduce.layers.initialise import glorot_uniform, zeros
from transduce.layers.masks import padding_mask
from transduce.layers.recurrent import Bidirectional, Cell, RecurrentStack
from transduce.layers.tap import tap
from transduce.models.contract import EncoderDecoder, ModelSettings


class RnnSearchConfig(ModelSettings):
    """A decoder that looks for the words it needs in the source; the defaults are near Bahdanau et al.'s."""

    kind: Literal["rnn_search"] = "rnn_search"
    """Recurrent encoder and decoder with attention."""
    cell: Cell = "gru"
    """rnn (h_t = tanh(W x_t + U h_t-1)), gru or lstm."""
    layers: int = Field(1, ge=1)
    """Layers of the encoder, and as many of the decoder; the topmost asks and is asked."""
    d_model: int = Field(1000, ge=2, multiple_of=2)
    """Width of embeddings, decoder states and encoder states; each direction of the encoder has half of it."""
    attention: Score = "additive"
    """additive (v · tanh(W s + U h)), dot (s · h) or general (s · W h)."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on embeddings, between layers and before the projection; none within a recurrence."""

    @property
    def capabilities(self) -> frozenset[str]:
        return RnnSearch.capabilities

    @property
    def longest(self) -> int | None:
        return None

    def activation_floats(self, length: int) -> int:
        """About 10 vectors of d_model a layer for a cell's gates, states and dropout, 8 around attention and
        projection; and for each pair of places the additive form's tanh."""
        pairs = length * self.d_model if self.attention == "additive" else 0
        return (2 * self.layers * 10 + 8) * self.d_model + pairs

    def build(self, source_vocabulary: int, target_vocabulary: int) -> RnnSearch:
        return RnnSearch(self, source_vocabulary, target_vocabulary)


@dataclass(frozen=True, slots=True)
class RnnSearchMemory:
    """h_j of every source position, the attention's keys of them, and h_1←, from which the decoder starts."""

    states: Float[Tensor, "b s d"]
    keys: Float[Tensor, "b s d"]
    mask: Bool[Tensor, "b 1 1 s"] | None
    first: Float[Tensor, "b half"]

    def select(self, rows: Int[Tensor, "r"]) -> RnnSearchMemory:
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        states, keys, first = (x.index_select(0, rows) for x in (self.states, self.keys, self.first))
        return RnnSearchMemory(states, keys, mask, first)


@dataclass(frozen=True, slots=True)
class RnnSearchState:
    """The memory, and the state s of each of the decoder's layers (n = 2 parts, h and c, for an LSTM)."""

    memory: RnnSearchMemory
    layers: Float[Tensor, "r l n d"]

    def select(self, rows: Int[Tensor, "n"]) -> RnnSearchState:
        return RnnSearchState(self.memory.select(rows), self.layers.index_select(0, rows))


class RnnSearch(EncoderDecoder):
    """For each word a context of its own, C_i = Σ_j α_ij h_j, where α_ij asks how well s_i−1 and h_j match.

    s_i = cell([y_i−1; C_i], s_i−1), and the word follows from a maxout of s_i, y_i−1 and C_i.
    """

    capabilities = frozenset({"encoder-decoder", "cross-attention", "recurrent"})

    def __init__(self, config: RnnSearchConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model, self.max_positions = target_vocabulary, config.d_model, None
        d, layers, dropout = config.d_model, config.layers, config.dropout
        self.source_embedding, self.target_embedding, self.projection = build_embeddings(
            config.tie, source_vocabulary, target_vocabulary, d
        )
        self.encoder = nn.ModuleList(Bidirectional(config.cell, d, d, name=f"encoder.{i}") for i in range(layers))
        self.decoder = RecurrentStack(config.cell, 2 * d, d, layers, dropout=dropout, name="decoder")
        self.attention = SourceAttention(config.attention, d, name="decoder.cross")
        self.parts = 2 if config.cell == "lstm" else 1
        self.W_start = nn.Linear(d // 2, layers * self.parts * d)
        self.W_output = nn.Linear(3 * d, 2 * d)
        glorot_uniform(*self.W_start.weight.split(d), self.W_output.weight)
        zeros([self.W_start.bias, self.W_output.bias])

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> RnnSearchMemory:
        """Read the source in both directions. Of an empty row every state is 0, and every weight will be."""
        x = self._embed(self.source_embedding, source, "encoder")
        for i, layer in enumerate(self.encoder):
            x, first = layer(self._dropout(x) if i else x, lengths)
            x = tap(f"encoder.{i}.output", x)
        mask = padding_mask(lengths, source.shape[1], source.device)
        return RnnSearchMemory(x, self.attention.keys(x), mask, tap("encoder.first", first))

    def hidden(self, previous: Int[Tensor, "b t"], memory: RnnSearchMemory) -> Float[Tensor, "b t d"]:
        """One position after another in training too: each attends from the state that the one before it left."""
        state = self.start(memory, previous.shape[1])
        y = self._embed(self.target_embedding, previous, "decoder")
        states, contexts = [], []
        for t in range(y.shape[1]):
            s, context, state = self._advance(y[:, t : t + 1], state)
            states.append(s)
            contexts.append(context)
        return self._output(torch.cat(states, 1), y, torch.cat(contexts, 1))

    def start(self, memory: RnnSearchMemory, capacity: int) -> RnnSearchState:
        """s_0 = tanh(W h_1←) for every layer."""
        states = self.W_start(memory.first).tanh().unflatten(1, (self.config.layers, self.parts, self.d_model))
        return RnnSearchState(memory, tap("decoder.start", states))

    def step(self, previous: Int[Tensor, "r"], state: RnnSearchState) -> tuple[Float[Tensor, "r v"], RnnSearchState]:
        y = self._embed(self.target_embedding, previous[:, None], "decoder")
        s, context, state = self._advance(y, state)
        return self.project(self._output(s, y, context)[:, 0]), state

    def _advance(
        self, y: Float[Tensor, "r 1 d"], state: RnnSearchState
    ) -> tuple[Float[Tensor, "r 1 d"], Float[Tensor, "r 1 d"], RnnSearchState]:
        """s_i, C_i and the state after them, from y_i−1 and the state before."""
        memory = state.memory
        context = self.attention(state.layers[:, -1, :1], memory.keys, memory.states, memory.mask)
        s, layers = self.decoder(torch.cat([y, context], -1), None, state.layers)
        return s, context, RnnSearchState(memory, layers)

    def _output(
        self, s: Float[Tensor, "r t d"], y: Float[Tensor, "r t d"], context: Float[Tensor, "r t d"]
    ) -> Float[Tensor, "r t d"]:
        """Maxout: of each two units the larger one."""
        x = self.W_output(torch.cat([s, y, context], -1)).unflatten(-1, (self.d_model, 2)).amax(-1)
        return self._dropout(tap("decoder.output", x))

    def _embed(self, embedding: Embedding, ids: Int[Tensor, "b t"], side: str) -> Float[Tensor, "b t d"]:
        return self._dropout(tap(f"{side}.embedding", embedding(ids)))

    def _dropout(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, self.training)
