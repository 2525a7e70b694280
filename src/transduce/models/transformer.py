"""The Transformer of *Attention Is All You Need*, section 3, and its variations of Table 3."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from transduce.acceleration.decoder import NativeDecoder, NativeState
from transduce.acceleration.encoder import NativeEncoder
from transduce.acceleration.structures import Form, LayerParts, StackParts
from transduce.layers.blocks import BlockSizes, DecoderLayer, EncoderLayer, KeyValues
from transduce.layers.dropout import dropout
from transduce.layers.embedding import Embedding, Tie, build_embeddings
from transduce.layers.feed_forward import Activation
from transduce.layers.fixed import Buffers, FixedDecoder, FixedState
from transduce.layers.grid import Grid, Past
from transduce.layers.masks import padding_mask
from transduce.layers.position import Positions, build_positions
from transduce.layers.residual import Norm
from transduce.layers.tap import recording, tap
from transduce.models.contract import EncoderDecoder, ModelSettings


class TransformerConfig(ModelSettings):
    """The numbers of the paper's Table 3; the defaults are its base model."""

    takes_preset_sizes = True

    kind: Literal["transformer"] = "transformer"
    """The paper's model; what a `[model]` without a `kind` is."""
    encoder_layers: int = Field(6, ge=1)
    """N, layers of the encoder."""
    decoder_layers: int = Field(6, ge=1)
    """N, layers of the decoder."""
    d_model: int = Field(512, ge=1)
    """Width of every vector between sub-layers."""
    d_ff: int = Field(2048, ge=1)
    """Inner width of the feed-forward networks (3.3)."""
    heads: int = Field(8, ge=1)
    """h, attention heads (3.2.2)."""
    d_k: int | None = Field(None, ge=1)
    """Width of a head's queries and keys; d_model / heads unless given."""
    d_v: int | None = Field(None, ge=1)
    """Width of a head's values; d_model / heads unless given."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """P_drop (5.4): on every sub-layer's output and on the sum of embedding and position."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on the attention weights; the paper names none."""
    activation: Activation = "relu"
    """relu (the paper), gelu or swiglu (which has a third matrix)."""
    norm: Norm = "post"
    """Layer normalisation after the addition (post: the paper), before the sub-layer (pre), or none."""
    residual: bool = True
    """Residual connections; without them only to see what they are for."""
    positions: Positions = "sinusoidal"
    """sinusoidal (3.5), learned (Table 3, row E), scalar (1, 2, 3 …) or none."""
    max_positions: int = Field(1024, ge=1)
    """Longest sequence in tokens, end mark included; binds learned positions only."""
    tie: Tie = "all"
    """One matrix for both embeddings and the projection (all: 3.4), for the target's two (target), or none shared."""

    @model_validator(mode="after")
    def _heads_divide(self) -> TransformerConfig:
        if (self.d_k is None or self.d_v is None) and self.d_model % self.heads:
            raise ValueError(
                f"heads = {self.heads} does not divide d_model = {self.d_model}; "
                "choose heads that do, or set both d_k and d_v"
            )
        return self

    @property
    def capabilities(self) -> frozenset[str]:
        return Transformer.capabilities

    @property
    def longest(self) -> int | None:
        return self.max_positions if self.positions == "learned" else None

    def activation_floats(self, length: int) -> int:
        """About 14 vectors of d_model and 2 of d_ff a layer, the decoder half as many again as the encoder; good
        to about a third. Fused attention keeps no weights, so the length doesn't matter."""
        return round((self.encoder_layers + 1.5 * self.decoder_layers) * (14 * self.d_model + 2 * self.d_ff))

    def build(self, source_vocabulary: int, target_vocabulary: int) -> Transformer:
        return Transformer(self, source_vocabulary, target_vocabulary)


@dataclass(frozen=True, slots=True)
class TransformerMemory:
    """The encoder's output, and which of its positions are no padding (None: all)."""

    states: Float[Tensor, "b s d"]
    mask: Bool[Tensor, "b 1 1 s"] | None

    def select(self, rows: Int[Tensor, "r"]) -> TransformerMemory:
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        return TransformerMemory(self.states.index_select(0, rows), mask)


@dataclass(frozen=True, slots=True)
class TransformerState:
    """Per decoder layer: keys and values of the memory, made once, and of the tokens so far; both by sentence."""

    memory: tuple[KeyValues, ...]
    mask: Bool[Tensor, "b 1 1 s"] | None
    pasts: tuple[Past, ...]
    grid: Grid
    """Where each row stands, and what it sees of its sentence's tokens."""
    steps: int = 0

    def select(self, rows: Int[Tensor, "n"]) -> TransformerState:
        grid, kept = self.grid.select(rows.cpu().numpy())
        if kept is None:
            return replace(self, grid=grid)
        sentences = torch.from_numpy(kept).to(rows.device)
        return TransformerState(
            tuple(part.select(sentences) for part in self.memory),
            None if self.mask is None else self.mask.index_select(0, sentences),
            tuple(past.select(sentences) for past in self.pasts),
            grid,
            self.steps,
        )


class Transformer(EncoderDecoder):
    """Figure 1."""

    capabilities = frozenset({"encoder-decoder", "cross-attention"})

    def __init__(self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model = target_vocabulary, config.d_model
        self.max_positions = config.longest
        sizes = BlockSizes(**{key: getattr(config, key) for key in BlockSizes.__annotations__})  # type: ignore[typeddict-item]

        self.source_embedding, self.target_embedding, self.projection = build_embeddings(
            config.tie, source_vocabulary, target_vocabulary, config.d_model
        )
        self.positions = build_positions(config.positions, config.d_model, config.max_positions)
        self.encoder = nn.ModuleList(EncoderLayer(sizes, f"encoder.{i}") for i in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(sizes, f"decoder.{i}") for i in range(config.decoder_layers))
        # In a pre-norm stack nothing normalises the sum of the last layer, so a norm stands at its end.
        final = nn.LayerNorm if config.norm == "pre" else nn.Identity
        self.encoder_norm, self.decoder_norm = final(config.d_model), final(config.d_model)
        self._native: tuple[NativeEncoder, NativeDecoder] | None = None
        self._fixed: FixedDecoder | None = None

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> TransformerMemory:
        """Figure 1, left. An empty row has an all-hidden mask and adds nothing to anything."""
        mask = padding_mask(lengths, source.shape[1], source.device)
        native = self._native_now()
        if native is not None:
            return TransformerMemory(native[0](source, lengths), mask)
        x = self._embed(self.source_embedding, source, "encoder")
        for i, layer in enumerate(self.encoder):
            x = tap(f"encoder.{i}.output", layer(x, mask))
        return TransformerMemory(tap("encoder.output", self.encoder_norm(x)), mask)

    def hidden(self, previous: Int[Tensor, "b t"], memory: TransformerMemory) -> Float[Tensor, "b t d"]:
        """Figure 1, right, at every target position at once (the answer is known in training)."""
        x = self._embed(self.target_embedding, previous, "decoder")
        for i, layer in enumerate(self.decoder):
            x = tap(f"decoder.{i}.output", layer(x, memory.states, memory.mask))
        return tap("decoder.output", self.decoder_norm(x))

    def start(self, memory: TransformerMemory, capacity: int) -> TransformerState | NativeState | FixedState:
        made = [layer.cross_attention.keys_values(memory.states) for layer in self.decoder]  # type: ignore[operator, union-attr]
        native = self._native_now()
        if native is not None:
            sentences, longest, _ = memory.states.shape
            full = torch.full((sentences,), longest)
            return native[1].start(made, full if memory.mask is None else memory.mask.sum(-1).view(-1))
        keys_values = tuple(KeyValues(*part) for part in made)
        if self._fixed is not None and self._unobserved():
            return self._fixed.start(keys_values, memory.mask)
        pasts = tuple(Past.start(part.keys, part.values) for part in keys_values)
        return TransformerState(keys_values, memory.mask, pasts, Grid.start(len(memory.states)))

    def step(
        self, previous: Int[Tensor, "r"], state: TransformerState | NativeState | FixedState
    ) -> tuple[Float[Tensor, "r v"], TransformerState | NativeState | FixedState]:
        """One token further."""
        if isinstance(state, NativeState):
            assert self._native is not None
            return self._native[1].step(previous, state)
        if isinstance(state, FixedState):
            return state.decoder.step(previous, state)
        grid = state.grid.grow(state.pasts[0].seen, previous.device)
        x = self._embed(self.target_embedding, grid.spread(previous)[:, None], "decoder", start=state.steps)
        x, seen = x.view(grid.sentences, grid.width, -1), grid.mask()
        pasts = []
        for i, layer in enumerate(self.decoder):
            x, past = layer.step(x, state.pasts[i], seen, state.memory[i], state.mask)  # type: ignore[operator]
            pasts.append(past)
            x = tap(f"decoder.{i}.output", x)
        logits = self.project(grid.gather(tap("decoder.output", self.decoder_norm(x))))
        return logits, replace(state, pasts=tuple(pasts), grid=grid, steps=state.steps + 1)

    def _native_now(self) -> tuple[NativeEncoder, NativeDecoder] | None:
        return self._native if self._unobserved() else None

    @staticmethod
    def _unobserved() -> bool:
        """Whether nobody looks inside, or wants gradients."""
        return not recording() and not torch.is_grad_enabled()

    def use_graphs(self) -> None:
        """Decode in buffers of fixed shape from now on, which on CUDA are steps recorded as graphs. The weights must
        not change any more."""

        def positions(count: int) -> Float[Tensor, "p d"]:
            count = min(count, self.max_positions or count)
            zeros = self.target_embedding.weight.new_zeros(1, count, self.d_model)
            return self.positions(zeros)[0]

        def body(buffers: Buffers) -> Float[Tensor, "bn v"]:
            x = self.target_embedding(buffers.previous) + buffers.positions.index_select(0, buffers.position)
            x = x.view(buffers.shape.b, buffers.shape.n, -1)
            for layer, past, memory in zip(self.decoder, buffers.pasts, buffers.memory, strict=True):
                x, _ = layer.step(x, past, buffers.visible, memory, buffers.mask)  # type: ignore[operator]
            return self.project(self.decoder_norm(x).flatten(0, 1))

        self._fixed = FixedDecoder(body, positions)

    def use_native_code(self, form: Form) -> None:
        """Translate by native code from now on. The weights must not change any more."""
        config = self.config

        def stack(
            layers: Iterable[nn.Module], embedding: Embedding, last: nn.Module, projection: Tensor | None
        ) -> StackParts:
            return StackParts(
                layers=tuple(map(_parts, layers)),
                embedding=embedding.weight,
                scale=embedding.scale,
                positions=lambda count: self.positions(torch.zeros(1, count, config.d_model))[0],
                last=last,
                norm=config.norm,
                residual=config.residual,
                activation=config.activation,
                heads=config.heads,
                d_k=config.d_k or config.d_model // config.heads,
                d_v=config.d_v or config.d_model // config.heads,
                projection=projection,
            )

        encoder = stack(self.encoder, self.source_embedding, self.encoder_norm, None)
        decoder = stack(self.decoder, self.target_embedding, self.decoder_norm, self.projection)
        self._native = NativeEncoder(encoder, form), NativeDecoder(decoder, form)

    def _embed(
        self, embedding: nn.Module, ids: Int[Tensor, "b t"], side: str, start: int = 0
    ) -> Float[Tensor, "b t d"]:
        x = tap(f"{side}.embedding", embedding(ids))
        x = tap(f"{side}.input", self.positions(x, start))
        return dropout(x, self.config.dropout, self.training)


def _parts(layer: nn.Module) -> LayerParts:
    assert isinstance(layer, EncoderLayer | DecoderLayer)
    cross = layer.cross_attention if isinstance(layer, DecoderLayer) else None
    residuals = (
        layer.residual_self,
        getattr(layer, "residual_cross", layer.residual_self),
        layer.residual_feed_forward,
    )
    return LayerParts(
        self_in=layer.self_attention.W_qkv,
        self_out=layer.self_attention.W_o,
        inner=layer.feed_forward.W_1,
        gate=layer.feed_forward.W_3,
        outer=layer.feed_forward.W_2,
        norms=tuple(residual.norm for residual in residuals),  # type: ignore[arg-type]
        cross_in=None if cross is None else (cross.W_q, cross.W_qkv.bias[: cross.widths[0]]),
        cross_out=None if cross is None else cross.W_o,
    )
