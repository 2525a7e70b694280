"""Masked-word training (Devlin et al. 2018, 3.1): which tokens stood at the blanks?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from transduce.search.constraints import banned_ids
from transduce.search.decoding import evaluating
from transduce.search.ensemble import LabellerEnsemble
from transduce.search.hypothesis import Hypothesis
from transduce.search.stepping import best
from transduce.search.watching import Watch
from transduce.tasks.task import NOTHING, Cost, Ids, Task, by_length
from transduce.text.specials import BOS, EOS, MASK, RESERVED

CHOSEN = 15
"""Percent of a text's tokens that are to be told; at least one is."""
BLANK, RANDOM = 0.8, 0.1
"""Shares of the chosen tokens in whose place a blank and a random token are read. The rest is read as it is, so that
the model has to look at every place, blank or not."""

ANY = 1 << 40
"""Ids from here on stand for a random token of a vocabulary whose size a batch doesn't know."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may stand at one blank: ids of text, the likeliest first, and their log-probabilities."""

    place: int
    """Of the blank in its text, in tokens."""
    ids: tuple[int, ...]
    log_probabilities: tuple[float, ...]


class Mask(Task[Encoder]):
    """A text with blanks; at each, the token that stood there. The text is the target, and there is no source."""

    name = "mask"
    command = "fill"
    needs = "encoder"
    streams = ("target",)
    marks = 2
    decoding = frozenset({"max_source", "unknown"})
    metrics = None
    requires: ClassVar[Mapping[str, Any]] = {"tokenizer.joint": True}
    defaults: ClassVar[Mapping[str, Any]] = {"model": {"kind": "bert"}, "training": {"label_smoothing": 0.0}}

    def batch(self, sources: Sequence[Ids], targets: Sequence[Ids], examples: Sequence[int], draw: int = 0) -> Batch:
        """Streams of a batch: `source` is the text with blanks from BOS to EOS, `expected` the tokens that were chosen,
        in order, and `places` where they stand in `source`."""
        read, places, expected = [], [], []
        for text, example in zip(targets, examples, strict=True):
            row = np.array([BOS, *text, EOS], np.int64)
            rank, kind, token = np.random.default_rng((draw, example)).random((3, len(text)))
            chosen = np.sort(np.argsort(rank)[: int(_chosen(len(text)))])
            at, kind, token = chosen + 1, kind[chosen], ANY + (token[chosen] * ANY).astype(np.int64)
            expected.append(row[at])
            places.append(at)
            row[at] = np.where(kind < BLANK, MASK, np.where(kind < BLANK + RANDOM, token, row[at]))
            read.append(row)
        streams = {"source": read, "places": places, "expected": expected}
        return Batch({name: Stream.pad(rows) for name, rows in streams.items()}, tuple(examples))

    def tokens(self, store: Store, examples: NDArray[np.int64]) -> tuple[int, int]:
        lengths = store.lengths("target")[examples].astype(np.int64)
        return int(lengths.sum()) + self.marks * len(examples), int(_chosen(lengths).sum())

    def hidden(self, model: Encoder, batch: Batch) -> Float[Tensor, "b k d"]:
        source, places = batch["source"], batch["places"].ids
        random = RESERVED + source.ids % (model.vocabulary - RESERVED)
        hidden = model.hidden(torch.where(source.ids < ANY, source.ids, random), source.lengths)
        return hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[2]))

    def candidates(
        self,
        model: Encoder | LabellerEnsemble,
        texts: Sequence[Sequence[int]],
        count: int,
        config: DecodingConfig,
        *,
        device: torch.device | str = "cpu",
        batch_tokens: int = 1024,
    ) -> list[list[Candidates]]:
        """For each blank (`MASK`) of each text, in order, at most `count` tokens that may stand there.

        The blanks of a text are told each by itself, as in training: none hears what is put into another.
        """
        found: list[list[Candidates]] = [[] for _ in texts]
        banned = [*banned_ids(config), EOS]
        for chunk in by_length(texts, lambda longest: batch_tokens // (longest + self.marks)):
            stream = Stream.pad([[BOS, *texts[i], EOS] for i in chunk])
            rows, places = (stream.ids == MASK).nonzero(as_tuple=True)
            with evaluating(model), torch.inference_mode():
                table = model(stream.ids.to(device), stream.lengths)[rows, places].log_softmax(-1, dtype=torch.float32)
                table[:, banned] = -torch.inf
                values, ids = best(table, min(count, table.shape[1] - RESERVED))
            for row, place, tokens, each in zip(
                rows.tolist(), places.tolist(), ids.tolist(), values.tolist(), strict=True
            ):
                found[chunk[row]].append(Candidates(place - 1, tuple(tokens), tuple(each)))
        return found

    def ensemble(self, models: Sequence[Encoder]) -> LabellerEnsemble:
        return LabellerEnsemble(models)

    def decode(
        self,
        model: Encoder | LabellerEnsemble,
        sources: Sequence[Sequence[int]],
        config: DecodingConfig,
        *,
        device: torch.device | str = "cpu",
        prefixes: Sequence[Sequence[int]] | None = None,
        sentence_ids: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[list[Hypothesis]]:
        """Each text with the likeliest token at each of its blanks. Raises InputError for prefixes."""
        if prefixes is not None:
            raise InputError("prefixes: a text with blanks is there from its beginning to its end")
        results = [[NOTHING] for _ in sources]
        for i, blanks in enumerate(self.candidates(model, sources, 1, config, device=device)):
            ids = list(sources[i])
            for blank in blanks:
                ids[blank.place] = blank.ids[0]
            each = tuple(blank.log_probabilities[0] for blank in blanks)
            results[i] = [Hypothesis(tuple(ids), sum(each), sum(each), each, finished=True)]
        return results

    def describe(self, config: DecodingConfig) -> str:
        return "one pass, the likeliest token at each blank"

    def cost(self, lengths: Mapping[str, NDArray[np.integer[Any]]]) -> Cost | None:
        return None


def _chosen(tokens: Any) -> Any:
    """How many of a text's tokens are chosen, for one number of tokens or an array of them."""
    return np.minimum(tokens, np.maximum(1, (CHOSEN * tokens + 50) // 100))
