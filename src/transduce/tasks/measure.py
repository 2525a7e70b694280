"""How well a model tells held-out text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from transduce.evaluation.scores import Score
from transduce.search.decoding import evaluating
from transduce.tasks.task import Ids, Task
from transduce.text.specials import PAD

ROWS = 256
"""States that are projected to the vocabulary at a time."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Sums over the expected tokens of some texts."""

    nats: float
    """Cross entropy."""
    tokens: int
    hits: int
    """Tokens that are the model's first choice."""
    whole: bool
    """Whether they are all tokens of the texts and their ends."""

    @property
    def loss(self) -> float:
        """Nats per token."""
        return self.nats / self.tokens

    def scores(self, texts: Sequence[str]) -> list[Score]:
        """Accuracy, and perplexity per token and, where the tokens are the whole of the texts, per byte and word, which
        can be compared across vocabularies. The end of a text counts as one of each, as its line feed is."""
        per = {"token": self.tokens}
        if self.whole:
            per["byte"] = sum(len(text.encode()) + 1 for text in texts)
            per["word"] = sum(len(text.split()) + 1 for text in texts)
        return [
            Score("accuracy", 100 * self.hits / self.tokens, f"tokens:{self.tokens}"),
            *(Score(f"perplexity per {unit}", perplexity(self.nats / n), f"{unit}s:{n}") for unit, n in per.items()),
        ]


def perplexity(nats: float) -> float:
    """e to the power of nats per unit, or as much of it as a number can hold."""
    return math.exp(min(nats, 700.0))


def measure(
    task: Task[Any],
    model: Any,
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    *,
    batch_tokens: int,
    device: torch.device | str = "cpu",
) -> Measure:
    """Measure a model on encoded texts, whose numbers decide what is random in their batches; dropout is off, and
    nothing is smoothed. At most `batch_tokens` places of either side are in memory at a time."""
    order = sorted(range(len(targets)), key=lambda i: (len(targets[i]), len(sources[i])))
    nats, tokens, hits = 0.0, 0, 0
    with evaluating(model), torch.inference_mode():
        while order:
            longest = max(len(targets[order[-1]]), len(sources[order[-1]])) + 1
            rows = max(1, batch_tokens // longest)
            order, chunk = order[:-rows], order[-rows:]
            batch = task.batch([sources[i] for i in chunk], [targets[i] for i in chunk], chunk).to(device)
            hidden, expected = task.hidden(model, batch).flatten(0, 1), batch["expected"].ids.flatten()
            tokens += int(batch["expected"].lengths.sum())
            for part, ids in zip(hidden.split(ROWS), expected.split(ROWS), strict=True):
                table, real = model.project(part).float().log_softmax(-1), ids != PAD
                nats -= float((table.gather(-1, ids[:, None])[:, 0] * real).sum())
                hits += int(((table.argmax(-1) == ids) & real).sum())
    return Measure(nats, tokens, hits, whole=tokens == sum(len(target) + 1 for target in targets))
