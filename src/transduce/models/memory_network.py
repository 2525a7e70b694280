"""End-to-end memory network: a question reads the sentences of a story, several times (Sukhbaatar et al. 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from transduce.layers.embedding import Embedding
from transduce.layers.initialise import glorot_uniform
from transduce.layers.tap import tap
from transduce.models.contract import Answerer, ModelSettings
from transduce.text.vocabulary import FULL_STOP_ID


class MemoryNetworkConfig(ModelSettings):
    """Hops over the sentences of a story; the defaults are the paper's (4.2), but for the width."""

    kind: Literal["memory_network"] = "memory_network"
    """An end-to-end memory network, which answers a question about the sentences before it (task `answer`)."""
    tie: Literal["none"] = "none"
    """The answers have a vocabulary of their own, so that no matrix serves both."""
    hops: int = Field(3, ge=1)
    """K, times that the memories are read one after another."""
    d_model: int = Field(64, ge=1)
    """d, width of every vector."""
    sentence: Literal["position", "bag"] = "position"
    """What a sentence is: the sum of its word vectors weighted by their places (position), or as they are (bag), which
    knows no word order."""
    memories: int = Field(50, ge=1)
    """Sentences that are remembered: the last ones before the question."""

    @property
    def capabilities(self) -> frozenset[str]:
        return MemoryNetwork.capabilities

    @property
    def longest(self) -> int | None:
        return None

    def activation_floats(self, length: int) -> int:
        """Two vectors of d_model for each of the K + 1 embeddings, and which sentence each word belongs to, as if each
        were one."""
        return 2 * (self.hops + 1) * self.d_model + 2 * min(length, self.memories + 1)

    def build(self, source_vocabulary: int, target_vocabulary: int) -> MemoryNetwork:
        return MemoryNetwork(self, source_vocabulary, target_vocabulary)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which words make which sentence."""

    words: Float[Tensor, "b n s"]
    """1 where a word belongs to a sentence: the question (0), the last sentence before it (1), the one before (2) …"""
    real: Bool[Tensor, "b i"]
    """The memories that there are: the sentences without the question."""
    l: Float[Tensor, "b s d"] | None
    """Weights of the words of a sentence; None for 1."""


class MemoryNetwork(Answerer):
    """Softmax over memories, K times, with adjacent weight tying (2.1, 2.2).

        m_i = Σ_j l_j ∘ A x_ij + T_A(i)      p_i = softmax(uᵀ m_i)      o = Σ_i p_i c_i
        c_i = Σ_j l_j ∘ C x_ij + T_C(i)      u¹ = Σ_j l_j ∘ B q_j       uᵏ⁺¹ = uᵏ + oᵏ
        â = softmax(W uᴷ⁺¹)                  l_kj = (1 − j/J) − (k/d)(1 − 2j/J)

    x_ij is word j of the i-th sentence back from the question q; J counts the words of its sentence, its mark included;
    l weighs words by their places (4.1). A¹ = B is `source_embedding`, Aᵏ⁺¹ = Cᵏ, and T in the same way; W is
    `projection`. A story of no sentences leaves o at 0.

    Departures: W is not Cᴷ, since answers have a vocabulary of their own; no empty memories are put in at random, and
    the softmax is there from the beginning of training.
    """

    def __init__(self, config: MemoryNetworkConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model = target_vocabulary, config.d_model
        self.max_positions = config.longest
        d = config.d_model
        self.source_embedding = Embedding(source_vocabulary, d, scaled=False)
        self.C = nn.ModuleList(Embedding(source_vocabulary, d, scaled=False) for _ in range(config.hops))
        tables = (nn.init.normal_(torch.empty(config.memories, d), std=0.1) for _ in range(config.hops + 1))
        self.T = nn.ParameterList(nn.Parameter(table) for table in tables)
        self.projection = nn.Parameter(torch.empty(target_vocabulary, d))
        glorot_uniform(self.projection)

    def hidden(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b d"]:
        layout = self._layout(source, lengths)
        sums = self._sums(self.source_embedding, source, layout)
        u, m = tap("question", sums[:, 0]), self._memories(sums, 0)
        for hop, embedding in enumerate(self.C):
            c = self._memories(self._sums(embedding, source, layout), hop + 1)
            p = self._read(tap(f"hop.{hop}.memories", m), u, layout.real)
            p = tap(f"hop.{hop}.weights", p)
            o = tap(f"hop.{hop}.output", (p[:, None] @ c)[:, 0])
            u, m = tap(f"hop.{hop}.state", u + o), c
        return u

    @staticmethod
    def _read(m: Float[Tensor, "b i d"], u: Float[Tensor, "b d"], real: Bool[Tensor, "b i"]) -> Float[Tensor, "b i"]:
        """p; not −∞ where there is no memory, as a row without any would then be NaN."""
        scores = (m @ u[..., None])[..., 0]
        p = scores.masked_fill(~real, torch.finfo(scores.dtype).min).softmax(-1)
        return p * real

    def _memories(self, sums: Float[Tensor, "b n d"], k: int) -> Float[Tensor, "b i d"]:
        return sums[:, 1:] + self.T[k][: sums.shape[1] - 1]

    @staticmethod
    def _sums(embedding: nn.Module, source: Int[Tensor, "b s"], layout: _Layout) -> Float[Tensor, "b n d"]:
        """Σ_j l_j ∘ E x_j of each sentence."""
        x = embedding(source)
        return layout.words.to(x) @ (x if layout.l is None else layout.l.to(x) * x)

    def _layout(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> _Layout:
        """Sentences end behind each full stop; the last one is the question, whatever it ends with."""
        places = torch.arange(source.shape[1], device=source.device)
        length = lengths.to(source.device)[:, None]
        inside = places < length
        stops = ((source == FULL_STOP_ID) & (places < length - 1)).long()
        # Of each word: the full stops from it to the question.
        back = stops.sum(1, keepdim=True) - stops.cumsum(1) + stops
        # A GPU is waited for here. Slots for as many sentences as there are words would cost more.
        most = int(back.max()) if back.numel() else 0
        ages = torch.arange(min(most, self.config.memories) + 1, device=source.device)
        words = (back[:, None] == ages[:, None]) & inside[:, None]
        weights = None if self.config.sentence == "bag" else self._positions(words)
        return _Layout(words.to(self.projection), words[:, 1:].any(2), weights)

    def _positions(self, words: Bool[Tensor, "b n s"]) -> Float[Tensor, "b s d"]:
        """l_kj for the place j of each word in its sentence; what stands outside of all of them means nothing."""
        d = self.d_model
        within = (words.long().cumsum(2) * words).sum(1)
        length = (words.sum(2, keepdim=True) * words).sum(1)
        share = (within / length.clamp(min=1))[..., None].to(self.projection)
        k = torch.arange(1, d + 1, device=words.device).to(self.projection)
        return (1 - share) - (k / d) * (1 - 2 * share)
