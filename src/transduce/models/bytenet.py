"""ByteNet: a convolutional decoder on top of a convolutional encoder (Kalchbrenner et al. 2016)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field, field_validator
from torch import Tensor, nn

from transduce.layers.convolution import DilatedBlock, Past, without_padding
from transduce.layers.dropout import dropout
from transduce.layers.embedding import build_embeddings
from transduce.layers.initialise import zeros
from transduce.layers.masks import padding_mask
from transduce.layers.tap import tap
from transduce.models.contract import EncoderDecoder, ModelSettings


class ByteNetConfig(ModelSettings):
    """Time linear in the length, and no attention; the defaults are the paper's."""

    kind: Literal["bytenet"] = "bytenet"
    """Dilated convolutions, the decoder stacked on the encoder."""
    encoder_layers: int = Field(30, ge=1)
    """Residual blocks of the encoder."""
    decoder_layers: int = Field(30, ge=1)
    """Residual blocks of the decoder."""
    d_model: int = Field(1600, ge=2, multiple_of=2)
    """Width of embeddings and between blocks, the paper's 2d; the convolutions inside a block have half of it."""
    kernel: int = Field(3, ge=1)
    """Positions that a convolution sees at once, an odd number."""
    max_dilation: int = Field(16, ge=1, le=4096)
    """Dilation doubles from block to block, 1, 2, 4 …, and begins again after this, a power of two."""
    stretch: float = Field(1.2, ge=1, le=10)
    """a: the decoder can read a·|s| columns of a source of |s| tokens, end mark included; then it goes on alone."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on embeddings, on what each block adds and before the projection."""

    @field_validator("kernel")
    @classmethod
    def _kernel_is_odd(cls, kernel: int) -> int:
        if kernel % 2 == 0:
            raise ValueError("the encoder sees as far to the left as to the right: expected an odd number, 3 or 5")
        return kernel

    @field_validator("max_dilation")
    @classmethod
    def _dilation_is_reached(cls, dilation: int) -> int:
        if dilation & (dilation - 1):
            raise ValueError("dilation doubles from 1: expected a power of two, such as 16")
        return dilation

    @property
    def capabilities(self) -> frozenset[str]:
        return ByteNet.capabilities

    @property
    def longest(self) -> int | None:
        return None

    def dilation(self, layer: int) -> int:
        """Of the block with this number, from 0."""
        return 2 ** (layer % self.max_dilation.bit_length())

    def activation_floats(self, length: int) -> int:
        """About 6 vectors of d_model for a block: what its norms, ReLUs and convolutions were given, and dropout."""
        return round((6 * (self.encoder_layers * self.stretch + self.decoder_layers) + 10) * self.d_model)

    def build(self, source_vocabulary: int, target_vocabulary: int) -> ByteNet:
        return ByteNet(self, source_vocabulary, target_vocabulary)


@dataclass(frozen=True, slots=True)
class ByteNetMemory:
    """The encoder's column for each of the first a·|s| positions of the target; 0 from there on."""

    columns: Float[Tensor, "b m d"]

    def select(self, rows: Int[Tensor, "r"]) -> ByteNetMemory:
        return ByteNetMemory(self.columns.index_select(0, rows))


@dataclass(frozen=True, slots=True)
class ByteNetState:
    """The memory, the number of tokens so far, and what each of the decoder's convolutions has seen of them."""

    memory: ByteNetMemory
    tokens: int
    pasts: tuple[Past, ...]

    def select(self, rows: Int[Tensor, "n"]) -> ByteNetState:
        return ByteNetState(self.memory.select(rows), self.tokens, tuple(past.select(rows) for past in self.pasts))


class ByteNet(EncoderDecoder):
    """The decoder unfolds over the encoder: where it writes token t it reads column t of the source.

    It has the words of the source nowhere else, and so has to carry each to the place where it is wanted.
    """

    capabilities = frozenset({"encoder-decoder"})

    def __init__(self, config: ByteNetConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model, self.max_positions = target_vocabulary, config.d_model, None
        d = config.d_model
        self.source_embedding, self.target_embedding, self.projection = build_embeddings(
            config.tie, source_vocabulary, target_vocabulary, d
        )
        self.encoder = self._stack("encoder", config.encoder_layers, causal=False)
        self.decoder = self._stack("decoder", config.decoder_layers, causal=True)
        # Nothing normalises the sums of a stack of residual blocks, so a norm stands at its end.
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.W_output = nn.Linear(d, d)
        nn.init.normal_(self.W_output.weight, std=math.sqrt(2 / d))
        zeros([self.W_output.bias])

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> ByteNetMemory:
        """The source stretched to a·|s| columns, the new ones 0 before the first block. Of an empty row all are 0."""
        x = tap("encoder.embedding", self.source_embedding(source))
        x = without_padding(x, padding_mask(lengths, source.shape[1], source.device))
        columns = (lengths.double() * self.config.stretch).ceil().long()
        # A convolution wants one position at least.
        size = max([1, *columns.tolist()])
        x = self._dropout(F.pad(x, (0, 0, 0, max(0, size - x.shape[1])))[:, :size])
        mask = padding_mask(columns, size, source.device)
        for i, block in enumerate(self.encoder):
            x = tap(f"encoder.{i}.output", block(x, mask))
        return ByteNetMemory(without_padding(tap("encoder.output", self.encoder_norm(x)), mask))

    def hidden(self, previous: Int[Tensor, "b t"], memory: ByteNetMemory) -> Float[Tensor, "b t d"]:
        x = self._unfold(previous, memory, 0)
        for i, block in enumerate(self.decoder):
            x = tap(f"decoder.{i}.output", block(x))
        return self._output(x)

    def start(self, memory: ByteNetMemory, capacity: int) -> ByteNetState:
        pasts = tuple(
            block.convolution.start(memory.columns, capacity)  # type: ignore[operator, union-attr]
            for block in self.decoder
        )
        return ByteNetState(memory, 0, pasts)

    def step(self, previous: Int[Tensor, "r"], state: ByteNetState) -> tuple[Float[Tensor, "r v"], ByteNetState]:
        """One token further. Writes into the state's pasts, so a state is stepped once."""
        x = self._unfold(previous[:, None], state.memory, state.tokens)
        pasts = []
        for i, block in enumerate(self.decoder):
            x, past = block.step(x, state.pasts[i])  # type: ignore[operator]
            pasts.append(past)
            x = tap(f"decoder.{i}.output", x)
        return self.project(self._output(x)[:, 0]), ByteNetState(state.memory, state.tokens + 1, tuple(pasts))

    def _stack(self, side: str, layers: int, *, causal: bool) -> nn.ModuleList:
        config = self.config
        return nn.ModuleList(
            DilatedBlock(
                config.d_model,
                config.kernel,
                dilation=config.dilation(i),
                causal=causal,
                dropout=config.dropout,
                name=f"{side}.{i}",
            )
            for i in range(layers)
        )

    def _unfold(self, ids: Int[Tensor, "b t"], memory: ByteNetMemory, start: int) -> Float[Tensor, "b t d"]:
        """Embeddings of the tokens from position `start` on, each with the encoder's column of the same number."""
        x = self._dropout(tap("decoder.embedding", self.target_embedding(ids)))
        columns = memory.columns[:, start : start + x.shape[1]]
        return tap("decoder.input", x + F.pad(columns, (0, 0, 0, x.shape[1] - columns.shape[1])))

    def _output(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        return self._dropout(tap("decoder.output", self.W_output(self.decoder_norm(x)).relu()))

    def _dropout(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, self.training)
