"""Convolutional sequence to sequence learning (Gehring et al. 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Bool, Float, Int
from pydantic import Field, field_validator
from torch import Tensor, nn

from transduce.layers.additive_attention import SourceAttention
from transduce.layers.convolution import GatedConvolution, Past, scaled_sum
from transduce.layers.dropout import dropout
from transduce.layers.embedding import build_embeddings
from transduce.layers.initialise import zeros
from transduce.layers.masks import padding_mask
from transduce.layers.position import Positions, build_positions
from transduce.layers.tap import tap
from transduce.models.contract import EncoderDecoder, ModelSettings

EMBEDDING_SCALE = 0.1
"""Standard deviation of the numbers of word and learned position embeddings at the start (3.5): attention is not
scaled, and larger ones would saturate it before it has learned anything."""


class ConvS2SConfig(ModelSettings):
    """Gated convolutions with attention in every layer of the decoder; layers, width and kernel are by default those
    of the paper's English–Romanian model."""

    kind: Literal["convs2s"] = "convs2s"
    """Convolutional encoder and decoder with attention."""
    encoder_layers: int = Field(20, ge=1)
    """Layers of the encoder; each sees (kernel − 1) / 2 more positions on either side."""
    decoder_layers: int = Field(20, ge=1)
    """Layers of the decoder, each with attention to the source."""
    d_model: int = Field(512, ge=1)
    """Width of embeddings and of every convolution's output."""
    kernel: int = Field(3, ge=1)
    """Positions that a convolution sees at once, an odd number."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on embeddings, on the input of each convolution and before the projection."""
    positions: Positions = "learned"
    """learned (the paper), sinusoidal, scalar or none."""
    max_positions: int = Field(1024, ge=1)
    """Longest sequence in tokens, end mark included; binds learned positions only."""

    @field_validator("kernel")
    @classmethod
    def _kernel_is_odd(cls, kernel: int) -> int:
        if kernel % 2 == 0:
            raise ValueError("the encoder sees as far to the left as to the right: expected an odd number, 3 or 5")
        return kernel

    @property
    def capabilities(self) -> frozenset[str]:
        return ConvS2S.capabilities

    @property
    def longest(self) -> int | None:
        return self.max_positions if self.positions == "learned" else None

    def activation_floats(self, length: int) -> int:
        """About 4 vectors of d_model a layer for a convolution, its gate and its dropout, 3 more where there is
        attention, which keeps its weights as well."""
        vectors = 4 * self.encoder_layers + 7 * self.decoder_layers + 10
        return vectors * self.d_model + 2 * self.decoder_layers * length

    def build(self, source_vocabulary: int, target_vocabulary: int) -> ConvS2S:
        return ConvS2S(self, source_vocabulary, target_vocabulary)


@dataclass(frozen=True, slots=True)
class ConvS2SMemory:
    """Of every source position z_j, by which attention finds it, and (z_j + e_j)·√0.5, which it then reads."""

    states: Float[Tensor, "b s d"]
    values: Float[Tensor, "b s d"]
    mask: Bool[Tensor, "b 1 1 s"] | None
    scale: Float[Tensor, "b 1 1"]
    """√m of a source of m tokens."""

    def select(self, rows: Int[Tensor, "r"]) -> ConvS2SMemory:
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        states, values, scale = (x.index_select(0, rows) for x in (self.states, self.values, self.scale))
        return ConvS2SMemory(states, values, mask, scale)


@dataclass(frozen=True, slots=True)
class ConvS2SState:
    """The memory, the number of tokens so far, and what each of the decoder's convolutions has seen of them."""

    memory: ConvS2SMemory
    tokens: int
    pasts: tuple[Past, ...]

    def select(self, rows: Int[Tensor, "n"]) -> ConvS2SState:
        return ConvS2SState(self.memory.select(rows), self.tokens, tuple(past.select(rows) for past in self.pasts))


class _DecoderLayer(nn.Module):
    """A causal gated convolution h_i, and what it asks of the source.

    a_ij = softmax_j(d_i · z_j) with d_i = (W_d h_i + b_d + g_i)·√0.5, where g_i is the embedding of the token before,
    and c_i = √m Σ_j a_ij (z_j + e_j)·√0.5: the mean of m vectors has 1/m of their variance (3.3, 3.4).
    """

    def __init__(self, d_model: int, kernel: int, *, dropout: float, name: str) -> None:
        super().__init__()
        self.gated = GatedConvolution(d_model, kernel, causal=True, dropout=dropout, name=name)
        self.attention = SourceAttention("dot", d_model, name=f"{name}.cross")
        self.W_d, self.W_c = _linear(d_model), _linear(d_model)

    def forward(
        self, x: Float[Tensor, "b t d"], g: Float[Tensor, "b t d"], memory: ConvS2SMemory
    ) -> Float[Tensor, "b t d"]:
        return self._attend(self.gated(x), x, g, memory)

    def step(
        self, x: Float[Tensor, "r 1 d"], g: Float[Tensor, "r 1 d"], memory: ConvS2SMemory, past: Past
    ) -> tuple[Float[Tensor, "r 1 d"], Past]:
        h, past = self.gated.step(x, past)
        return self._attend(h, x, g, memory), past

    def _attend(
        self, h: Float[Tensor, "b t d"], x: Float[Tensor, "b t d"], g: Float[Tensor, "b t d"], memory: ConvS2SMemory
    ) -> Float[Tensor, "b t d"]:
        """As the authors' code has it: the context is added to h before the residual is."""
        d = scaled_sum(self.W_d(h), g)
        c = self.attention(d, memory.states, memory.values, memory.mask) * memory.scale
        return scaled_sum(scaled_sum(self.W_c(c), h), x)


class ConvS2S(EncoderDecoder):
    """Stacks of gated convolutions; what lower layers attended to reaches the attention of higher ones.

    Two departures. Weights are not normalised (Salimans and Kingma 2016): with Adam in place of the paper's plain
    gradient steps, and weights that start so that variance is kept, the models learn without. And one width serves
    embeddings and convolutions.
    """

    capabilities = frozenset({"encoder-decoder", "cross-attention"})

    def __init__(self, config: ConvS2SConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model, self.max_positions = target_vocabulary, config.d_model, config.longest
        d, k, dropout = config.d_model, config.kernel, config.dropout
        self.source_embedding, self.target_embedding, self.projection = build_embeddings(
            config.tie, source_vocabulary, target_vocabulary, d
        )
        self.source_positions = build_positions(config.positions, d, config.max_positions)
        self.target_positions = build_positions(config.positions, d, config.max_positions)
        for weight in (*self.source_positions.parameters(), *self.target_positions.parameters()):
            nn.init.normal_(weight)
        self.encoder_input, self.decoder_input = _linear(d, dropout), _linear(d, dropout)
        self.encoder = nn.ModuleList(
            GatedConvolution(d, k, causal=False, dropout=dropout, name=f"encoder.{i}")
            for i in range(config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            _DecoderLayer(d, k, dropout=dropout, name=f"decoder.{i}") for i in range(config.decoder_layers)
        )
        self.encoder_output, self.decoder_output = _linear(d), _linear(d)

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> ConvS2SMemory:
        """All positions at once. Of an empty row every attention weight will be 0."""
        mask = padding_mask(lengths, source.shape[1], source.device)
        e = self._embed(self.source_embedding(source), self.source_positions, "encoder")
        x = self.encoder_input(e)
        for i, gated in enumerate(self.encoder):
            x = tap(f"encoder.{i}.output", scaled_sum(gated(x, mask), x))
        z = tap("encoder.output", self.encoder_output(x))
        # The encoder hears from every layer of the decoder, through keys and values.
        z = _with_gradient(z, 1 / (2 * len(self.decoder)))
        scale = lengths.to(z.device, z.dtype, non_blocking=True).sqrt()[:, None, None]
        return ConvS2SMemory(z, scaled_sum(z, e), mask, scale)

    def hidden(self, previous: Int[Tensor, "b t"], memory: ConvS2SMemory) -> Float[Tensor, "b t d"]:
        g = self._embed(self.target_embedding(previous), self.target_positions, "decoder")
        x = self.decoder_input(g)
        for i, layer in enumerate(self.decoder):
            x = tap(f"decoder.{i}.output", layer(x, g, memory))
        return self._output(x)

    def start(self, memory: ConvS2SMemory, capacity: int) -> ConvS2SState:
        pasts = tuple(
            layer.gated.convolution.start(memory.states, capacity)  # type: ignore[operator, union-attr]
            for layer in self.decoder
        )
        return ConvS2SState(memory, 0, pasts)

    def step(self, previous: Int[Tensor, "r"], state: ConvS2SState) -> tuple[Float[Tensor, "r v"], ConvS2SState]:
        """One token further. Writes into the state's pasts, so a state is stepped once."""
        g = self._embed(self.target_embedding(previous[:, None]), self.target_positions, "decoder", state.tokens)
        x = self.decoder_input(g)
        pasts = []
        for i, layer in enumerate(self.decoder):
            x, past = layer.step(x, g, state.memory, state.pasts[i])  # type: ignore[operator]
            pasts.append(past)
            x = tap(f"decoder.{i}.output", x)
        return self.project(self._output(x)[:, 0]), ConvS2SState(state.memory, state.tokens + 1, tuple(pasts))

    def _embed(
        self, embedded: Float[Tensor, "b t d"], positions: nn.Module, side: str, start: int = 0
    ) -> Float[Tensor, "b t d"]:
        x = tap(f"{side}.embedding", embedded)
        x = tap(f"{side}.input", positions(x, start) * EMBEDDING_SCALE)
        return dropout(x, self.config.dropout, self.training)

    def _output(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        return dropout(tap("decoder.output", self.decoder_output(x)), self.config.dropout, self.training)


def _linear(d_model: int, dropout: float = 0.0) -> nn.Linear:
    """A mapping that keeps the variance of what it is given after that much dropout (3.5)."""
    linear = nn.Linear(d_model, d_model)
    nn.init.normal_(linear.weight, std=math.sqrt((1 - dropout) / d_model))
    zeros([linear.bias])
    return linear


def _with_gradient(x: Tensor, scale: float) -> Tensor:
    """x, whose gradient will be multiplied by `scale`."""
    fixed = x.detach()
    return fixed + (x - fixed) * scale
