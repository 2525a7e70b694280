"""Plain loops that say what search should find."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch

from tests.support.table_model import BANNED, TableModel
from transduce.data.batch import Stream
from transduce.search import DecodingConfig, Hypothesis, search
from transduce.text.specials import BOS, EOS


def run(
    model: object, sources: Sequence[Sequence[int]], *, batch: int | None = None, **settings: object
) -> list[list[Hypothesis]]:
    """Search with small-vocabulary bans, `batch` sentences at a time."""
    calls = {k: settings.pop(k) for k in ("prefixes", "sentence_ids", "banned") if settings.get(k) is not None}
    config = DecodingConfig(**settings)  # type: ignore[arg-type]
    found = []
    for start in range(0, len(sources), batch or len(sources)):
        part = slice(start, start + (batch or len(sources)))
        stream = Stream.pad(sources[part])
        extra = {"banned": BANNED} | {k: v if k == "banned" else v[part] for k, v in calls.items()}  # type: ignore[index]
        found += search(model, stream.ids, stream.lengths, config, **extra)  # type: ignore[arg-type]
    return found


def token_log_probs(model: TableModel, source: Sequence[int], output: Sequence[int]) -> list[float]:
    """Of each token of the output, by stepping the model alone."""
    stream = Stream.pad([source])
    state = model.start(model.encode(stream.ids, stream.lengths), len(output))
    values, previous = [], BOS
    for token in output:
        logits, state = model.step(torch.tensor([previous]), state)
        values.append(logits.log_softmax(-1)[0, token].item())
        previous = token
    return values


def lp(length: int, alpha: float, form: str) -> float:
    """The formulas of LengthPenalty, once more."""
    return ((5 + length) / 6) ** alpha if form == "gnmt" else length**alpha


def brute_force(
    model: TableModel, source: Sequence[int], text: Sequence[int], limit: int, alpha: float, form: str = "gnmt"
) -> list[tuple[float, tuple[int, ...]]]:
    """Score and ids of every output of at most `limit` tokens and an end mark, best first."""
    every = []
    for length in range(limit + 1):
        for ids in itertools.product(text, repeat=length):
            total = sum(token_log_probs(model, source, (*ids, EOS)))
            every.append((total / lp(length + 1, alpha, form), ids))
    return sorted(every, reverse=True)


def greedy(
    model: TableModel, source: Sequence[int], limit: int, banned: Sequence[int] = BANNED
) -> tuple[list[int], bool]:
    """The best token at each step up to the end mark: ids, and whether the end mark came."""
    stream = Stream.pad([source])
    state = model.start(model.encode(stream.ids, stream.lengths), limit + 1)
    ids: list[int] = []
    while True:
        logits, state = model.step(torch.tensor([ids[-1] if ids else BOS]), state)
        logits[:, list(banned)] = -torch.inf
        token = int(logits.argmax())
        if token == EOS or len(ids) == limit:
            return ids, token == EOS
        ids.append(token)


def sentences(count: int, longest: int, *, seed: int = 0) -> list[list[int]]:
    """Random sources of 1 to `longest` tokens, each with its end mark."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (count,), generator=generator).tolist()
    return [[*torch.randint(3, 11, (n,), generator=generator).tolist(), EOS] for n in lengths]
