"""A language model: what comes next in a text (Radford et al. 2018)."""

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
from transduce.models.contract import LanguageModel, StepModel
from transduce.search.config import DecodingConfig
from transduce.search.decoding import search
from transduce.search.ensemble import Ensemble
from transduce.search.hypothesis import Hypothesis
from transduce.search.watching import Watch
from transduce.tasks.task import Cost, Ids, Task, how_searched
from transduce.text.specials import BOS, EOS


class Generate(Task[LanguageModel]):
    """Every token of a text and its end mark, from those before it. The text is the target, and there is no source."""

    name = command = "generate"
    needs = "language-model"
    streams = ("target",)
    marks = 1
    decoding = frozenset(DecodingConfig.model_fields) - {"without_letters"}
    metrics = None
    requires: ClassVar[Mapping[str, Any]] = {"tokenizer.joint": True}
    defaults: ClassVar[Mapping[str, Any]] = {
        "model": {"kind": "gpt"},
        "training": {"label_smoothing": 0.0},
        "decoding": {"beam": 1},
    }

    def batch(self, sources: Sequence[Ids], targets: Sequence[Ids], examples: Sequence[int], draw: int = 0) -> Batch:
        """Streams of a batch: `previous` begins with BOS, `expected` ends in EOS."""
        streams = {
            "previous": Stream.pad([[BOS, *text] for text in targets]),
            "expected": Stream.pad([[*text, EOS] for text in targets]),
        }
        return Batch(streams, tuple(examples))

    def tokens(self, store: Store, examples: NDArray[np.int64]) -> tuple[int, int]:
        count = int(store.lengths("target")[examples].sum()) + len(examples)
        return count, count

    def hidden(self, model: LanguageModel, batch: Batch) -> Float[Tensor, "b t d"]:
        return model.hidden(batch["previous"].ids)

    def ensemble(self, models: Sequence[LanguageModel]) -> Ensemble:
        return Ensemble(models)

    def decode(
        self,
        model: StepModel,
        sources: Sequence[Sequence[int]],
        config: DecodingConfig,
        *,
        device: torch.device | str = "cpu",
        batch_rows: int = 64,
        prefixes: Sequence[Sequence[int]] | None = None,
        sentence_ids: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """What each source, and the prefix behind it, goes on to: both are part of the output, and their
        log-probabilities too. An empty one is the beginning of any text. `max_extra` counts from the source's end."""
        begun = [[*source, *prefix] for source, prefix in zip(sources, prefixes or [[]] * len(sources), strict=True)]
        ids = range(len(sources)) if sentence_ids is None else sentence_ids
        results: list[list[Hypothesis]] = []
        for start in range(0, len(sources), batch_rows):
            chunk = range(start, min(start + batch_rows, len(sources)))
            stream = Stream.pad([[*sources[i], EOS] for i in chunk]).to(device)
            results += search(
                model,
                stream.ids,
                stream.lengths,
                config,
                prefixes=[begun[i] for i in chunk],
                sentence_ids=[ids[i] for i in chunk],
                watch=None if watch is None else watch(chunk),
            )
        return results

    def describe(self, config: DecodingConfig) -> str:
        return how_searched(config)

    def cost(self, lengths: Mapping[str, NDArray[np.integer[Any]]]) -> Cost | None:
        return None
