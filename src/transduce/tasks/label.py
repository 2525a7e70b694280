"""One output for each input (article 1.4): n tokens in, n tokens out."""

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
from transduce.errors import InputError
from transduce.models.contract import Labeller
from transduce.search.config import DecodingConfig
from transduce.search.constraints import banned_ids
from transduce.search.decoding import evaluating
from transduce.search.ensemble import LabellerEnsemble
from transduce.search.hypothesis import Hypothesis
from transduce.search.stepping import best
from transduce.search.watching import Watch
from transduce.tasks.task import NOTHING, Cost, Ids, Task, by_length
from transduce.text.specials import EOS


class Label(Task[Labeller]):
    """The t-th place of the source writes the t-th token of the target.

    A target that is longer than its source is cut. Behind a shorter one stands an end mark; the places after it are
    left out of the loss, and of the output, so that the probability of a target is a product over its own tokens.
    """

    name = "label"
    needs = "labeller"
    marks = 0
    decoding = frozenset({"max_source", "unknown", "without_letters"})

    def batch(self, sources: Sequence[Ids], targets: Sequence[Ids], examples: Sequence[int], draw: int = 0) -> Batch:
        """Streams of a batch: `source` without marks, and `expected`, which has at most as many tokens."""
        expected = [[*target, EOS][: len(source)] for source, target in zip(sources, targets, strict=True)]
        return Batch({"source": Stream.pad(sources), "expected": Stream.pad(expected)}, tuple(examples))

    def tokens(self, store: Store, examples: NDArray[np.int64]) -> tuple[int, int]:
        source, target = (store.lengths(name)[examples] for name in self.streams)
        return int(source.sum()), int(np.minimum(source, target + 1).sum())

    def hidden(self, model: Labeller, batch: Batch) -> Float[Tensor, "b t d"]:
        source = batch["source"]
        return model.hidden(source.ids, source.lengths)[:, : batch["expected"].ids.shape[1]]

    def ensemble(self, models: Sequence[Labeller]) -> LabellerEnsemble:
        return LabellerEnsemble(models)

    def decode(
        self,
        model: Labeller | LabellerEnsemble,
        sources: Sequence[Sequence[int]],
        config: DecodingConfig,
        *,
        device: torch.device | str = "cpu",
        batch_tokens: int = 1024,
        prefixes: Sequence[Sequence[int]] | None = None,
        sentence_ids: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """The likeliest token of each place, up to the first end mark: one hypothesis per source, from one pass over
        at most `batch_tokens` places. Raises InputError for prefixes."""
        if prefixes is not None:
            raise InputError("prefixes: no place of the output hears of another, so none goes on from a beginning")
        results = [[NOTHING] for _ in sources]
        banned = list(banned_ids(config))
        for chunk in by_length(sources, lambda longest: batch_tokens // longest):
            stream = Stream.pad([sources[i] for i in chunk]).to(device)
            with evaluating(model), torch.inference_mode():
                table = model(stream.ids, stream.lengths).log_softmax(-1, dtype=torch.float32)
                table[..., banned] = -torch.inf
                values, ids = (array.reshape(stream.ids.shape) for array in best(table.flatten(0, 1), 1))
            for row, i in enumerate(chunk):
                n = len(sources[i])
                results[i] = [_up_to_the_end(ids[row, :n].tolist(), values[row, :n].tolist())]
        return results

    def describe(self, config: DecodingConfig) -> str:
        return "one pass, the likeliest token at each place"

    def cost(self, lengths: Mapping[str, NDArray[np.integer[Any]]]) -> Cost | None:
        source, target = (np.asarray(lengths[name], np.int64) for name in self.streams)
        longer, shorter = np.maximum(target - source, 0), np.maximum(source - target, 0)
        if not longer.any() and not shorter.any():
            return None
        figures = {
            "pairs": len(source),
            "cut_targets": int((longer > 0).sum()),
            "target_tokens": int(target.sum()),
            "lost_target_tokens": int(longer.sum()),
            "places": int(source.sum()),
            "idle_places": int(shorter.sum()),
        }
        return Cost(
            f"one token out for each in: {_share(figures, 'cut_targets', 'pairs', 'targets')} are longer than their "
            f"source and cut, which loses {_share(figures, 'lost_target_tokens', 'target_tokens', 'target tokens')}; "
            f"{_share(figures, 'idle_places', 'places', 'source tokens')} are left with nothing to write",
            figures,
        )


def _up_to_the_end(ids: list[int], log_probs: list[float]) -> Hypothesis:
    """The tokens before the first end mark; their probability counts the mark, if there is one."""
    end = ids.index(EOS) if EOS in ids else len(ids)
    each = tuple(log_probs[: end + 1])
    total = sum(each)
    return Hypothesis(tuple(ids[:end]), total, total, each, finished=True)


def _share(figures: Mapping[str, int], part: str, whole: str, noun: str) -> str:
    """`1,234 of 5,678 targets (21.7%)`."""
    return f"{figures[part]:,} of {figures[whole]:,} {noun} ({figures[part] / max(1, figures[whole]):.1%})"
