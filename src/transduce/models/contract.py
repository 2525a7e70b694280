"""What a model offers, whatever is inside it.

An encoder-decoder offers three views of the same computation:

- `hidden` and `projection`: teacher-forced training (paper 3.1: the decoder's input is the output
  shifted right). They are apart so that the loss can project to the vocabulary in chunks;
- `forward`: the two together, where the whole table of logits is wanted;
- `encode`, `start`, `step`: inference one token at a time. The encoder runs once per sentence;
  `step` uses what earlier steps left in the `State`.

Memory and State are plain trees of tensors whose first axis is the row of the batch, so that search
can pick, repeat and drop rows without knowing the model.

Capabilities: `encoder-decoder`; `cross-attention` (the decoder weighs the places of the source, and taps named
`….cross.weights` show how: [b h t s]); `recurrent` (a layer takes one position after another, and its taps are heard
once for each, joined along the last axis but one).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.config import Config
from transduce.layers.embedding import Embedding
from transduce.layers.tap import tap


class Rows(Protocol):
    """A tree of tensors with one row per sentence (Memory) or per hypothesis (State)."""

    def select(self, rows: Int[Tensor, "r"]) -> Rows:
        """The given rows in the given order; a row may be taken several times or not at all."""
        ...


class StepModel(Protocol):
    """What search asks of a model: any encoder-decoder, or an ensemble of them."""

    vocabulary: int
    """Size of the target vocabulary, V."""
    max_positions: int | None
    """Longest sequence, in tokens, that the position table covers; None if there is no limit."""

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Any:
        """Read the source once. Returns the Memory, a `Rows` of b rows. The lengths are on the CPU."""
        ...

    def start(self, memory: Any, capacity: int) -> Any:
        """The State before the first token, a `Rows`, with room for `capacity` steps."""
        ...

    def step(self, previous: Int[Tensor, "b"], state: Any) -> tuple[Float[Tensor, "b v"], Any]:
        """Logits of the next token after `previous` (BOS at first), and the State after it."""
        ...


class EncoderDecoder(nn.Module, ABC):
    """Base of the models that read a source and write a target."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"encoder-decoder"})
    vocabulary: int
    d_model: int
    """Width that the paper's learning-rate formula scales by (5.3)."""
    max_positions: int | None
    source_embedding: Embedding
    """Where word vectors of the source can be put; it may be the target's too."""
    target_embedding: Embedding
    projection: nn.Parameter
    """Decoder states to logits [v d] (paper 3.4); it may be the target embedding's matrix."""

    @abstractmethod
    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Any: ...

    @abstractmethod
    def hidden(self, previous: Int[Tensor, "b t"], memory: Any) -> Float[Tensor, "b t d"]:
        """Teacher forcing: the decoder's states for a target shifted right (BOS first)."""

    def project(self, hidden: Float[Tensor, "*n d"]) -> Float[Tensor, "*n v"]:
        """Decoder states to logits over the target vocabulary."""
        return tap("logits", F.linear(hidden, self.projection))

    @abstractmethod
    def start(self, memory: Any, capacity: int) -> Any: ...

    @abstractmethod
    def step(self, previous: Int[Tensor, "b"], state: Any) -> tuple[Float[Tensor, "b v"], Any]: ...

    def forward(
        self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"], previous: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b t v"]:
        """Logits at every target position in one pass."""
        return self.project(self.hidden(previous, self.encode(source, lengths)))


class ModelSettings(Config, ABC):
    """The settings of a model, and what they answer, so that nobody else needs to know which model it is.

    Beside these, each has a field `kind`, a name that no other model has.
    """

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[str]:
        """Those of the model that `build` makes."""

    @property
    @abstractmethod
    def needs_joint_vocabulary(self) -> bool:
        """Whether one matrix serves both languages (`tie = "all"`)."""

    @property
    @abstractmethod
    def longest(self) -> int | None:
        """Longest sequence in tokens, end mark included, where learned positions (`max_positions`) end; or None."""

    @abstractmethod
    def activation_floats(self, length: int) -> int:
        """Numbers that a forward pass keeps for the backward one, for each place of a batch of sentences of `length`
        tokens on either side; logits left out. An estimate, to tell what fits into memory."""

    @abstractmethod
    def build(self, source_vocabulary: int, target_vocabulary: int) -> EncoderDecoder:
        """The model with fresh weights. The vocabularies count every id, special ones included."""
