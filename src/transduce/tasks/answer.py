"""The answer to a question that stands behind a story (Sukhbaatar et al. 2015, 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from transduce.data.batch import Batch, Stream
from transduce.data.store import Store
from transduce.errors import InputError
from transduce.models.contract import Answerer
from transduce.search.config import DecodingConfig
from transduce.search.decoding import evaluating
from transduce.search.ensemble import AnswererEnsemble
from transduce.search.hypothesis import Hypothesis
from transduce.search.watching import Watch
from transduce.tasks.classify import likeliest
from transduce.tasks.task import NOTHING, Cost, Ids, Task, by_length


class Answer(Task[Answerer]):
    """A source is sentences that end with the word `.`, and a question; the whole target line is one answer."""

    name = "answer"
    needs = "answerer"
    whole = True
    marks = 0
    decoding = frozenset({"beam", "nbest", "max_source", "without_letters"})  # a beam is as wide as the n best are many
    metrics = ()
    requires: ClassVar[Mapping[str, Any]] = {
        "tokenizer.kind": "sentences",
        "tokenizer.joint": False,
        "tokenizer.target_kind": "line",
    }
    defaults: ClassVar[Mapping[str, Any]] = {
        "model": {"kind": "memory_network"},
        "training": {"label_smoothing": 0.0},
        # An answer says nothing of a story's length.
        "data": {"filters": {"max_ratio": 1e9}},
        "decoding": {"without_letters": "translate"},
    }

    def batch(self, sources: Sequence[Ids], targets: Sequence[Ids], examples: Sequence[int], draw: int = 0) -> Batch:
        """Streams of a batch: `source` without marks, and `expected`, the answers."""
        return Batch({"source": Stream.pad(sources), "expected": Stream.pad(targets)}, tuple(examples))

    def tokens(self, store: Store, examples: NDArray[np.int64]) -> tuple[int, int]:
        return int(store.lengths("source")[examples].sum()), len(examples)

    def hidden(self, model: Answerer, batch: Batch) -> Float[Tensor, "b 1 d"]:
        return model.hidden(batch["source"].ids, batch["source"].lengths)[:, None]

    def ensemble(self, models: Sequence[Answerer]) -> AnswererEnsemble:
        return AnswererEnsemble(models)

    def decode(
        self,
        model: Answerer | AnswererEnsemble,
        sources: Sequence[Sequence[int]],
        config: DecodingConfig,
        *,
        device: torch.device | str = "cpu",
        batch_tokens: int = 4096,
        prefixes: Sequence[Sequence[int]] | None = None,
        sentence_ids: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """The `nbest` likeliest answers to each source. Raises InputError for prefixes."""
        if prefixes is not None:
            raise InputError("prefixes: an answer has no beginning to go on from")
        results = [[NOTHING] for _ in sources]
        for chunk in by_length(sources, lambda longest: batch_tokens // longest):
            stream = Stream.pad([sources[i] for i in chunk]).to(device)
            with evaluating(model), torch.inference_mode():
                table = model(stream.ids, stream.lengths).log_softmax(-1, dtype=torch.float32)
                found = likeliest(table, config.nbest)
            for i, hypotheses in zip(chunk, found, strict=True):
                results[i] = hypotheses
        return results

    def describe(self, config: DecodingConfig) -> str:
        return "one pass, the likeliest answer"

    def cost(self, lengths: Mapping[str, NDArray[np.integer[Any]]]) -> Cost | None:
        return None
