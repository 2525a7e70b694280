"""The task of the paper: a target sequence for a source sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from transduce.data.batch import Batch, Stream
from transduce.data.store import Store
from transduce.models.contract import EncoderDecoder, StepModel
from transduce.search.config import DecodingConfig
from transduce.search.decoding import search
from transduce.search.ensemble import Ensemble
from transduce.search.hypothesis import Hypothesis
from transduce.search.watching import Watch
from transduce.tasks.task import NOTHING, Cost, Ids, Task, by_length, how_searched
from transduce.text.specials import BOS, EOS


class Translate(Task[EncoderDecoder]):
    """Source and target streams; teacher forcing with the target shifted right (3.1)."""

    name = "translate"
    needs = "encoder-decoder"
    marks = 1
    decoding = frozenset(DecodingConfig.model_fields)

    def batch(self, sources: Sequence[Ids], targets: Sequence[Ids], examples: Sequence[int], draw: int = 0) -> Batch:
        """Streams of a batch: `source` and `expected` end in EOS, `previous` begins with BOS."""
        streams = {
            "source": Stream.pad([[*source, EOS] for source in sources]),
            "previous": Stream.pad([[BOS, *target] for target in targets]),
            "expected": Stream.pad([[*target, EOS] for target in targets]),
        }
        return Batch(streams, tuple(examples))

    def tokens(self, store: Store, examples: NDArray[np.int64]) -> tuple[int, int]:
        source, target = (int(store.lengths(name)[examples].sum()) + len(examples) for name in self.streams)
        return source, target

    def hidden(self, model: EncoderDecoder, batch: Batch) -> Float[Tensor, "b t d"]:
        memory = model.encode(batch["source"].ids, batch["source"].lengths)
        return model.hidden(batch["previous"].ids, memory)

    def ensemble(self, models: Sequence[EncoderDecoder]) -> Ensemble:
        return Ensemble(models)

    def decode(
        self,
        model: StepModel,
        sources: Sequence[Sequence[int]],
        config: DecodingConfig,
        *,
        device: torch.device | str = "cpu",
        batch_tokens: int = 4096,
        prefixes: Sequence[Sequence[int]] | None = None,
        sentence_ids: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """As any task does; at most `batch_tokens` padded source tokens times the beam are decoded together."""
        results: list[list[Hypothesis]] = [[NOTHING] for _ in sources]
        ids = range(len(sources)) if sentence_ids is None else sentence_ids
        for chunk in by_length(sources, lambda longest: batch_tokens // ((longest + 1) * config.beam)):
            stream = Stream.pad([[*sources[i], EOS] for i in chunk]).to(device)
            found = search(
                model,
                stream.ids,
                stream.lengths,
                config,
                prefixes=None if prefixes is None else [prefixes[i] for i in chunk],
                sentence_ids=[ids[i] for i in chunk],
                watch=None if watch is None else watch(chunk),
            )
            for i, hypotheses in zip(chunk, found, strict=True):
                results[i] = hypotheses
        return results

    def describe(self, config: DecodingConfig) -> str:
        return how_searched(config)

    def cost(self, lengths: Mapping[str, NDArray[np.integer[Any]]]) -> Cost | None:
        return None
