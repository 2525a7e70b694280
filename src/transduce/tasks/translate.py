"""The task of the paper: a target sequence for a source sequence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transduce.data.batch import Batch, Stream
from transduce.data.store import Store
from transduce.models.contract import EncoderDecoder, StepModel
from transduce.search.config import DecodingConfig
from transduce.search.decoding import search
from transduce.search.hypothesis import Hypothesis
from transduce.tasks.losses import label_smoothed_cross_entropy
from transduce.text.specials import BOS, EOS

NOTHING = Hypothesis(ids=(), score=0.0, log_probability=0.0, token_log_probabilities=(), finished=True)
"""The output for a source without tokens."""


class Translate:
    """Source and target streams; teacher forcing with the target shifted right (3.1)."""

    streams = ("source", "target")

    def collate(self, store: Store, examples: Iterable[int]) -> Batch:
        """Streams of a batch: `source` and `expected` end in EOS, `previous` begins with BOS."""
        rows = [int(i) for i in examples]
        return self.batch([store.ids("source", i) for i in rows], [store.ids("target", i) for i in rows], rows)

    def batch(
        self,
        sources: Sequence[Sequence[int] | np.ndarray],
        targets: Sequence[Sequence[int] | np.ndarray],
        examples: Sequence[int],
    ) -> Batch:
        streams = {
            "source": Stream.pad([[*source, EOS] for source in sources]),
            "previous": Stream.pad([[BOS, *target] for target in targets]),
            "expected": Stream.pad([[*target, EOS] for target in targets]),
        }
        return Batch(streams, tuple(examples))

    def tokens(self, store: Store, examples: np.ndarray) -> int:
        """Target tokens that the loss of these examples is the sum over, end marks included."""
        return int(store.lengths("target")[examples].sum()) + len(examples)

    def loss(self, model: EncoderDecoder, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
        """Cross entropy in nats, summed over the target tokens of the batch."""
        memory = model.encode(batch["source"].ids, batch["source"].lengths)
        hidden = model.hidden(batch["previous"].ids, memory)
        return label_smoothed_cross_entropy(
            hidden.flatten(0, 1), model.projection, batch["expected"].ids.flatten(), smoothing
        )

    def token_log_probabilities(self, model: EncoderDecoder, batch: Batch) -> list[list[float]]:
        """log p of each expected token given those before it, per row, end mark included."""
        source, previous, expected = batch["source"], batch["previous"], batch["expected"]
        with torch.inference_mode():
            logits = model(source.ids, source.lengths, previous.ids).float()
            chosen = logits.log_softmax(-1).gather(-1, expected.ids[..., None])[..., 0]
        return [row[:n].tolist() for row, n in zip(chosen.cpu(), expected.lengths.tolist(), strict=True)]

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
    ) -> list[list[Hypothesis]]:
        """n-best hypotheses per source, in the order given, whatever shares a batch.

        Sentences of like length are decoded together, at most `batch_tokens` padded source tokens times
        the beam. A source without tokens has one empty hypothesis; the model is not asked.
        """
        results: list[list[Hypothesis]] = [[NOTHING] for _ in sources]
        order = sorted((i for i, source in enumerate(sources) if source), key=lambda i: -len(sources[i]))
        ids = range(len(sources)) if sentence_ids is None else sentence_ids
        while order:
            rows = max(1, batch_tokens // ((len(sources[order[0]]) + 1) * config.beam))
            chunk, order = order[:rows], order[rows:]
            stream = Stream.pad([[*sources[i], EOS] for i in chunk]).to(device)
            found = search(
                model,
                stream.ids,
                stream.lengths,
                config,
                prefixes=None if prefixes is None else [prefixes[i] for i in chunk],
                sentence_ids=[ids[i] for i in chunk],
            )
            for i, hypotheses in zip(chunk, found, strict=True):
                results[i] = hypotheses
        return results
