"""What a task is: how examples become a batch, what is learned from one, and how output is made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from transduce.data.batch import Batch
from transduce.data.store import Store
from transduce.errors import ConfigError
from transduce.models.contract import Model
from transduce.search.config import DecodingConfig
from transduce.search.decoding import evaluating
from transduce.search.hypothesis import Hypothesis
from transduce.search.watching import Watch
from transduce.tasks.losses import label_smoothed_cross_entropy

M = TypeVar("M", bound=Model)

Ids = Sequence[int] | NDArray[Any]

NOTHING = Hypothesis(ids=(), score=0.0, log_probability=0.0, token_log_probabilities=(), finished=True)
"""The output for a source without tokens."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a task cannot use of a text."""

    sentence: str
    figures: Mapping[str, int]
    """What the sentence was made from."""

    def __str__(self) -> str:
        return self.sentence


class Task(ABC, Generic[M]):
    """What is learned, for models M that have the capability which it needs. It has no state."""

    name: ClassVar[str]
    """As the experiment names it."""
    command: ClassVar[str] = "translate"
    """What the program's users call to have it done by a trained run."""
    needs: ClassVar[str]
    """The capability without which a model can't do it."""
    streams: ClassVar[tuple[str, ...]] = ("source", "target")
    """Streams of the store that a batch is made from."""
    whole: ClassVar[bool] = False
    """Whether a source means something only as a whole, so that no sentence or line of it is one by itself."""
    marks: ClassVar[int]
    """Marks that are added to a source before a model reads it."""
    decoding: ClassVar[frozenset[str]]
    """The settings of `DecodingConfig` that have an effect on its output."""
    metrics: ClassVar[tuple[str, ...] | None] = ("bleu", "chrf", "ter")
    """Those of sacreBLEU's that fit its output, beside the share of exact matches; None where output is not compared
    with references: then perplexity counts."""
    requires: ClassVar[Mapping[str, Any]] = {}
    """Settings of an experiment without which it can't be, each as TABLE.KEY."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Settings of an experiment that are others on this task, unless given: `requires` too, table by table."""

    @abstractmethod
    def batch(self, sources: Sequence[Ids], targets: Sequence[Ids], examples: Sequence[int], draw: int = 0) -> Batch:
        """Streams of a batch: `expected` is what the loss is taken over, `source` and others what the model reads.

        Where anything in it is random, that follows from `draw` and the row's example, whatever shares the batch.
        """

    def collate(self, store: Store, examples: Iterable[int], draw: int = 0) -> Batch:
        """The batch of some examples of a store."""
        rows = [int(i) for i in examples]
        sources, targets = ([store.ids(name, i) for i in rows] for name in (self.streams[0], self.streams[-1]))
        return self.batch(sources, targets, rows, draw)

    @abstractmethod
    def tokens(self, store: Store, examples: NDArray[np.int64]) -> tuple[int, int]:
        """Source tokens that are read of these examples, and target tokens that their loss is the sum over, with
        the marks that the task adds."""

    @abstractmethod
    def hidden(self, model: M, batch: Batch) -> Float[Tensor, "b k d"]:
        """The states that are projected to the expected tokens."""

    def loss(self, model: M, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
        """Cross entropy in nats, summed over the expected tokens of the batch."""
        hidden, expected = self.hidden(model, batch), batch["expected"].ids
        return label_smoothed_cross_entropy(hidden.flatten(0, 1), model.projection, expected.flatten(), smoothing)

    def log_probabilities(self, model: M, batch: Batch) -> Float[Tensor, "b m v"]:
        """log p of every token at each place where one is expected, told those before it; dropout off."""
        with evaluating(model), torch.inference_mode():
            return model.project(self.hidden(model, batch)).float().log_softmax(-1)

    def token_log_probabilities(self, model: M, batch: Batch) -> list[list[float]]:
        """log p of each expected token, per row; dropout off."""
        expected = batch["expected"]
        chosen = self.log_probabilities(model, batch).gather(-1, expected.ids[..., None])[..., 0]
        return [row[:n].tolist() for row, n in zip(chosen.cpu(), expected.lengths.tolist(), strict=True)]

    @abstractmethod
    def ensemble(self, models: Sequence[M]) -> Any:
        """What `decode` takes for several models: their probabilities are averaged."""

    @abstractmethod
    def decode(
        self,
        model: Any,
        sources: Sequence[Sequence[int]],
        config: DecodingConfig,
        *,
        device: torch.device | str = "cpu",
        prefixes: Sequence[Sequence[int]] | None = None,
        sentence_ids: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """n-best hypotheses per source, in the order given, whatever shares a batch.

        A source without tokens has one empty hypothesis; the model is not asked. `prefixes` are what outputs must
        begin with, `sentence_ids` what sampling is seeded by, and `watch` looks on where there is a beam search.
        """

    @abstractmethod
    def describe(self, config: DecodingConfig) -> str:
        """How output is searched for, in a few words for people."""

    @abstractmethod
    def cost(self, lengths: Mapping[str, NDArray[np.integer[Any]]]) -> Cost | None:
        """What of a text is lost on this task, from each stream's lengths without marks (n,); None where nothing is."""

    def check(self, config: DecodingConfig) -> None:
        """Raise ConfigError for a setting that was changed and has no effect on this task."""
        for name, field in type(config).model_fields.items():
            value = getattr(config, name)
            # One hypothesis at a time is what a task without a search does anyhow.
            if name in self.decoding or value == field.default or (name, value) == ("beam", 1):
                continue
            raise ConfigError(
                f'decoding.{name} = {value!r} has no effect on the task "{self.name}", whose output comes of '
                f"{self.describe(config)}: leave it out"
            )


def by_length(sources: Sequence[Sequence[int]], rows: Callable[[int], int]) -> Iterator[list[int]]:
    """Places of the sources that have tokens, the longest first, in batches of at most `rows(longest)` of them."""
    order = sorted((i for i, source in enumerate(sources) if source), key=lambda i: -len(sources[i]))
    while order:
        size = max(1, rows(len(sources[order[0]])))
        chunk, order = order[:size], order[size:]
        yield chunk


def how_searched(config: DecodingConfig) -> str:
    """How `search` makes output, in a few words for people."""
    if config.sample:
        return f"sampling, seed {config.seed}"
    return f"beam {config.beam}, length penalty {config.length_penalty} ({config.length_penalty_form})"
