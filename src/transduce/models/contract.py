"""What a model offers, whatever is inside it.

Every model is a `Model`: what training, saving and reports need. What else it offers its capabilities say, and a task
names the capability that it needs.

An encoder-decoder offers three views of the same computation:

- `hidden` and `projection`: teacher-forced training (paper 3.1: the decoder's input is the output
  shifted right). They are apart so that the loss can project to the vocabulary in chunks;
- `forward`: the two together, where the whole table of logits is wanted;
- `encode`, `start`, `step`: inference one token at a time. The encoder runs once per sentence;
  `step` uses what earlier steps left in the `State`.

Memory and State are plain trees of tensors whose first axis is the row of the batch, so that search
can pick, repeat and drop rows without knowing the model.

A labeller offers one: `hidden`, a state for each place of the source, all in one pass; an answerer has one state for
all of it. A language model has no source: to search it is an encoder-decoder with an empty Memory.

Capabilities: `encoder-decoder`; `labeller`; `encoder` (a labeller that sees each place from both sides, and gives whole
texts a vector); `answerer`; `language-model`; `cross-attention` (the decoder weighs the places of the source, and taps
named `….cross.weights` show how: [b h t s]); `recurrent` (a layer takes one position after another, and its taps are
heard once for each, joined along the last axis but one; a labeller's output then depends on no later input).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Protocol

from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.acceleration.linear import linear
from transduce.config import Config
from transduce.layers.embedding import Embedding, Tie
from transduce.layers.tap import tap

Pooling = Literal["mean", "first"]
"""What a text's vector is made of: all its tokens' vectors, or the first one's."""


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


class Model(nn.Module, ABC):
    """Base of every model.

    An `Embedding` called `source_embedding` or `target_embedding`, where there is one, is where word vectors can be
    put.
    """

    capabilities: ClassVar[frozenset[str]]
    vocabulary: int
    """Size of the vocabulary of its output, V."""
    d_model: int
    """Width that the paper's learning-rate formula scales by (5.3)."""
    max_positions: int | None
    """Longest sequence, in tokens, that it can take; None if there is no limit."""
    projection: nn.Parameter
    """States to logits [v d] (paper 3.4); it may be an embedding's matrix."""

    def project(self, hidden: Float[Tensor, "*n d"]) -> Float[Tensor, "*n v"]:
        """States to logits over the vocabulary of the output."""
        return tap("logits", linear(hidden, self.projection))


class EncoderDecoder(Model):
    """Base of the models that read a source and write a target."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"encoder-decoder"})
    source_embedding: Embedding
    """It may be the target's too."""
    target_embedding: Embedding

    @abstractmethod
    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Any: ...

    @abstractmethod
    def hidden(self, previous: Int[Tensor, "b t"], memory: Any) -> Float[Tensor, "b t d"]:
        """Teacher forcing: the decoder's states for a target shifted right (BOS first)."""

    @abstractmethod
    def start(self, memory: Any, capacity: int) -> Any: ...

    @abstractmethod
    def step(self, previous: Int[Tensor, "b"], state: Any) -> tuple[Float[Tensor, "b v"], Any]: ...

    def forward(
        self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"], previous: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b t v"]:
        """Logits at every target position in one pass."""
        return self.project(self.hidden(previous, self.encode(source, lengths)))


class Labeller(Model):
    """Base of the models that write one output for each input, n for n (article 1.4)."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"labeller"})
    source_embedding: Embedding

    @abstractmethod
    def hidden(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s d"]:
        """A state for each place; what stands at padding means nothing. The lengths are on the CPU."""

    def forward(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s v"]:
        """Logits for each place of the source in one pass."""
        return self.project(self.hidden(source, lengths))


class Encoder(Labeller):
    """Base of the models that read a text from both sides."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"labeller", "encoder"})

    @abstractmethod
    def pool(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"], pooling: Pooling) -> Float[Tensor, "b d"]:
        """One vector for each text: the mean of its tokens' vectors (0 if it has none), or the first token's."""


class Answerer(Model):
    """Base of the models that answer a question about the sentences before it; each ends with a full stop."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"answerer"})
    source_embedding: Embedding

    @abstractmethod
    def hidden(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b d"]:
        """The state that the answer is projected from. The lengths are on the CPU."""

    def forward(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b v"]:
        """Logits of the answers."""
        return self.project(self.hidden(source, lengths))


class LanguageModel(Model):
    """Base of the models that go on with a text."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"language-model"})
    source_embedding: Embedding

    @abstractmethod
    def hidden(self, previous: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:
        """Teacher forcing: the state from which each next token follows (BOS first)."""

    @abstractmethod
    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Any:
        """An empty Memory of b rows: what a text begins with is given to search as a prefix."""

    @abstractmethod
    def start(self, memory: Any, capacity: int) -> Any: ...

    @abstractmethod
    def step(self, previous: Int[Tensor, "b"], state: Any) -> tuple[Float[Tensor, "b v"], Any]: ...

    def forward(self, previous: Int[Tensor, "b t"]) -> Float[Tensor, "b t v"]:
        """Logits at every position in one pass."""
        return self.project(self.hidden(previous))


class ModelSettings(Config, ABC):
    """The settings of a model, and what they answer, so that nobody else needs to know which model it is."""

    largest: ClassVar[int] = 1_000_000
    """Of a model's sizes; a hundred times what any model has had."""
    takes_preset_sizes: ClassVar[bool] = False
    """Whether the sizes of the presets are for this model; others keep their own defaults, those of their papers."""

    kind: str
    """The model's name, which no other has."""
    tie: Tie = "none"
    """One matrix for both embeddings and the projection (all: paper 3.4), for the target's two (target), or none
    shared."""

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[str]:
        """Those of the model that `build` makes."""

    @property
    def needs_joint_vocabulary(self) -> bool:
        """Whether one matrix serves both languages (`tie = "all"`)."""
        return self.tie == "all"

    @property
    def reads_backwards(self) -> bool:
        """Whether its encoder takes the source's last token first."""
        return False

    @property
    @abstractmethod
    def longest(self) -> int | None:
        """Longest sequence in tokens, end mark included, where learned positions (`max_positions`) end; or None."""

    @abstractmethod
    def activation_floats(self, length: int) -> int:
        """Numbers that a forward pass keeps for the backward one, for each place of a batch of sentences of `length`
        tokens on either side; logits left out. An estimate, to tell what fits into memory."""

    @abstractmethod
    def build(self, source_vocabulary: int, target_vocabulary: int) -> Model:
        """The model with fresh weights. The vocabularies count every id, special ones included."""
