"""A feed-forward network, which takes a whole sentence at one go (article 1.3)."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from transduce.errors import InputError
from transduce.layers.dropout import dropout
from transduce.layers.embedding import build_embeddings
from transduce.layers.feed_forward import FeedForward
from transduce.layers.tap import tap
from transduce.models.contract import Labeller, ModelSettings

Input = Literal["mean", "concat"]


class FeedForwardConfig(ModelSettings):
    """Input layer, hidden layer, output layer, and as many tokens out as in."""

    kind: Literal["feed_forward"] = "feed_forward"
    """A feed-forward network: no recurrence, no attention."""
    tie: Literal["all", "none"] = "none"
    """One matrix for embedding and projection (all), or two (none)."""
    input: Input = "mean"
    """What the sentence's word vectors become, since the input layer has a fixed size: their average (mean), which
    knows no order, so that every place writes the same; or all of them end to end (concat), at most `max_positions`."""
    d_model: int = Field(128, ge=1)
    """Width of word vectors, and of what each place is written from."""
    d_ff: int = Field(512, ge=1)
    """Units of the hidden layer."""
    max_positions: int = Field(50, ge=1)
    """Longest sentence in tokens, for which the input layer has room; binds `concat` only. Each place of it costs
    2 · d_model · d_ff weights, used or not."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on embeddings and before the projection."""

    @property
    def capabilities(self) -> frozenset[str]:
        return FeedForwardNetwork.capabilities

    @property
    def longest(self) -> int | None:
        return self.max_positions if self.input == "concat" else None

    def activation_floats(self, length: int) -> int:
        """About 4 vectors of d_model for each place, 3 for each that the input layer has room for, and 2 of d_ff, as if
        a batch were full of single words: these take the same room as the longest sentence."""
        return 4 * self.d_model + 3 * (self.longest or 1) * self.d_model + 2 * self.d_ff

    def build(self, source_vocabulary: int, target_vocabulary: int) -> FeedForwardNetwork:
        return FeedForwardNetwork(self, source_vocabulary, target_vocabulary)


class FeedForwardNetwork(Labeller):
    """o = W₂ max(0, W₁ x + b₁) + b₂ and y_t = softmax(V o_t), where x is made from x_1 … x_n in one of two ways.

    mean: x = (x_1 + … + x_n) / n, and o_t = o at every place: the same words in another order are the same sentence,
    and each place writes the same. concat: x = [x_1; …; x_P], 0 behind the end, and o = [o_1; …; o_P]: each place has
    weights of its own, so that nothing of what is learned at one helps at another. V is `projection`.
    """

    def __init__(self, config: FeedForwardConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary, self.d_model = target_vocabulary, config.d_model
        self.max_positions = config.longest
        self.source_embedding, _, self.projection = build_embeddings(
            config.tie, source_vocabulary, target_vocabulary, config.d_model
        )
        self.feed_forward = FeedForward((self.max_positions or 1) * config.d_model, config.d_ff)

    def hidden(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s d"]:
        """Raises InputError for a sentence that is longer than the input layer."""
        real = (torch.arange(source.shape[1]) < lengths[:, None]).to(source.device)
        x = dropout(tap("embedding", self.source_embedding(source)), self.config.dropout, self.training)
        x = x.masked_fill(~real[..., None], 0.0)
        o = self._end_to_end(x, lengths) if self.config.input == "concat" else self._mean(x, lengths)
        return dropout(tap("output", o), self.config.dropout, self.training)

    def _mean(self, x: Float[Tensor, "b s d"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s d"]:
        mean = x.sum(1) / lengths.clamp(min=1)[:, None].to(x)
        return self.feed_forward(tap("input", mean))[:, None].expand_as(x)

    def _end_to_end(self, x: Float[Tensor, "b s d"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s d"]:
        room, places = self.config.max_positions, x.shape[1]
        longest = int(lengths.max()) if len(lengths) else 0
        if longest > room:
            raise InputError(
                f"a sequence of {longest} tokens is longer than the {room} that the input layer has room for "
                "(model.max_positions): shorten it, or train with more, or with another model, which has no limit"
            )
        # A negative pad cuts: beyond the input layer's room there is only padding.
        x = tap("input", F.pad(x, (0, 0, 0, room - places)).flatten(1))
        o = self.feed_forward(x).unflatten(1, (room, self.d_model))
        return F.pad(o, (0, 0, 0, places - room))
