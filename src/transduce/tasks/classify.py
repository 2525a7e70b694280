"""What a text is: one of some labels for all of it (Devlin et al. 2018, 3.2)."""

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
from transduce.models.contract import Encoder
from transduce.search.config import DecodingConfig
from transduce.search.decoding import evaluating
from transduce.search.ensemble import LabellerEnsemble
from transduce.search.hypothesis import Hypothesis
from transduce.search.stepping import best
from transduce.search.watching import Watch
from transduce.tasks.task import NOTHING, Cost, Ids, Task, by_length
from transduce.text.specials import BOS, EOS, RESERVED


class Classify(Task[Encoder]):
    """The start mark's place of the source tells the label: the target, whose whole line is one token."""

    name = "classify"
    needs = "encoder"
    whole = True
    marks = 2
    decoding = frozenset({"beam", "nbest", "max_source", "without_letters"})  # a beam is as wide as the n best are many
    metrics = ()
    requires: ClassVar[Mapping[str, Any]] = {
        "tokenizer.joint": False,
        "tokenizer.target_kind": "line",
        "model.tie": "none",
    }
    defaults: ClassVar[Mapping[str, Any]] = {
        "model": {"kind": "bert"},
        "training": {"label_smoothing": 0.0},
        # A label says nothing of a text's length, and a text without letters has one too.
        "data": {"filters": {"max_ratio": 1e9}},
        "decoding": {"without_letters": "translate"},
    }

    def batch(self, sources: Sequence[Ids], targets: Sequence[Ids], examples: Sequence[int], draw: int = 0) -> Batch:
        """Streams of a batch: `source` from BOS to EOS, and `expected`, the labels."""
        streams = {"source": Stream.pad([[BOS, *source, EOS] for source in sources]), "expected": Stream.pad(targets)}
        return Batch(streams, tuple(examples))

    def tokens(self, store: Store, examples: NDArray[np.int64]) -> tuple[int, int]:
        return int(store.lengths("source")[examples].sum()) + self.marks * len(examples), len(examples)

    def hidden(self, model: Encoder, batch: Batch) -> Float[Tensor, "b 1 d"]:
        return model.hidden(batch["source"].ids, batch["source"].lengths)[:, :1]

    def ensemble(self, models: Sequence[Encoder]) -> LabellerEnsemble:
        return LabellerEnsemble(models)

    def decode(
        self,
        model: Encoder | LabellerEnsemble,
        sources: Sequence[Sequence[int]],
        config: DecodingConfig,
        *,
        device: torch.device | str = "cpu",
        batch_tokens: int = 1024,
        prefixes: Sequence[Sequence[int]] | None = None,
        sentence_ids: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """The `nbest` likeliest labels of each source. Raises InputError for prefixes."""
        if prefixes is not None:
            raise InputError("prefixes: a label has no beginning to go on from")
        results = [[NOTHING] for _ in sources]
        for chunk in by_length(sources, lambda longest: batch_tokens // (longest + self.marks)):
            stream = Stream.pad([[BOS, *sources[i], EOS] for i in chunk]).to(device)
            with evaluating(model), torch.inference_mode():
                table = model(stream.ids, stream.lengths)[:, 0].log_softmax(-1, dtype=torch.float32)
                found = likeliest(table, config.nbest)
            for i, hypotheses in zip(chunk, found, strict=True):
                results[i] = hypotheses
        return results

    def describe(self, config: DecodingConfig) -> str:
        return "one pass, the likeliest label"

    def cost(self, lengths: Mapping[str, NDArray[np.integer[Any]]]) -> Cost | None:
        return None


def likeliest(table: Float[Tensor, "b v"], nbest: int) -> list[list[Hypothesis]]:
    """The `nbest` likeliest labels of each row of log-probabilities; special ids are none."""
    table[:, :RESERVED] = -torch.inf
    values, ids = best(table, min(nbest, table.shape[1] - RESERVED))
    rows = zip(ids.tolist(), values.tolist(), strict=True)
    return [
        [Hypothesis((id,), p, p, (p,), finished=True) for id, p in zip(labels, each, strict=True)]
        for labels, each in rows
    ]
