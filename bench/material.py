"""What all contenders get alike: text, an experiment of ours on it, and the passes that make its updates."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transduce.data.batching import Sampler
    from transduce.data.store import Store
    from transduce.experiment import Experiment
    from transduce.text.pair import Tokenizers

SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"encoder_layers": 4, "decoder_layers": 4, "d_model": 128, "d_ff": 256, "heads": 4, "dropout": 0.3},
    "small": {"encoder_layers": 3, "decoder_layers": 3, "d_model": 256, "d_ff": 1024, "heads": 4, "dropout": 0.1},
    "base": {"encoder_layers": 6, "decoder_layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "dropout": 0.1},
    "toy": {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 32, "heads": 2, "dropout": 0.1},
}
"""The models that are compared, by name."""
LONGEST = 256
"""Tokens of a sentence at most."""
WARMUP, LEARNING_RATE = 400, 5e-4
Pair = tuple[str, str]


@dataclass(frozen=True)
class Material:
    """A folder with `train.source`, `train.target`, `experiment.toml` and, for the peers, `updates.json`."""

    folder: Path
    origin: str
    """Where the text is from, in words."""
    vocabulary: int
    source_per_target: float
    """Source tokens for each target token."""

    @property
    def experiment(self) -> Path:
        return self.folder / "experiment.toml"


def pairs_of(data: Path | None, count: int, vocabulary: int) -> tuple[list[Pair], str]:
    """Pairs of sentences in pieces, and where they are from: the folder's `train.*`, or made up."""
    if data is not None:
        first, second = sorted(data.glob("train.*"), key=lambda path: ".en" not in path.name)[:2]
        with gzip.open(first, "rt", encoding="utf-8") as sources, gzip.open(second, "rt", encoding="utf-8") as targets:
            found = [(s.strip(), t.strip()) for s, t in islice(zip(sources, targets, strict=True), count)]
        return found, f"{data.parent.name}/{data.name}, {first.name} to {second.name}"
    return list(made_up(count, vocabulary)), f"made up: {count} pairs with the lengths of image captions"


def made_up(count: int, vocabulary: int, length: int | None = None) -> Iterable[Pair]:
    """Words by Zipf's law, in sentences as long as Multi30k's in pieces (or all of one length); always the same."""
    rng = random.Random(1)
    words = [f"w{i}" for i in range(vocabulary)]
    weights = list(accumulate(1 / (i + 10) for i in range(vocabulary)))
    # Each word occurs at least once, so that the vocabulary has the size that was asked for.
    rest = iter(words)
    for _ in range(count):
        source_length = length or min(LONGEST - 8, max(4, round(rng.lognormvariate(2.6, 0.32))))
        target_length = length or max(3, round(source_length * rng.uniform(0.8, 1.25)))
        source = rng.choices(words, cum_weights=weights, k=source_length)
        target = rng.choices(words, cum_weights=weights, k=target_length)
        fresh = list(islice(rest, source_length // 2))
        yield " ".join([*fresh, *source][:source_length]), " ".join(target)


def write_experiment(
    folder: Path,
    pairs: list[Pair],
    sizes: dict[str, Any],
    vocabulary: int,
    batch_tokens: int,
    passes: int,
    *,
    model: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    rare: list[Pair] | None = None,
) -> Path:
    """An experiment of ours on these pairs, which are split at spaces: pieces stay what they are.

    `rare` are pairs that count for the vocabulary, and are learned from once in a thousand epochs.
    """
    import tomli_w

    folder.mkdir(parents=True, exist_ok=True)
    corpora = {"train": pairs, "valid": pairs[:8], **({"rare": rare} if rare else {})}
    for corpus, of_corpus in corpora.items():
        for side, name in enumerate(("source", "target")):
            lines = "".join(f"{pair[side]}\n" for pair in of_corpus)
            (folder / f"{corpus}.{name}").write_text(lines, encoding="utf-8")
    never = 1_000_000
    table = {
        "name": "bench",
        "preset": "base",
        "data": {
            "train": [
                {"source": f"{corpus}.source", "target": f"{corpus}.target", "weight": weight}
                for corpus, weight in (("train", 1.0), ("rare", 1e-3)) if corpus in corpora
            ],
            "valid": {"source": "valid.source", "target": "valid.target"},
            "filters": {
                "duplicates": "keep", "held_out": "keep", "max_length": min(LONGEST, batch_tokens) - 1,
                "max_ratio": 100.0, "max_dropped": 0.5,
            },
        },
        "tokenizer": {"kind": "word", "vocabulary": vocabulary, "if_too_large": "shrink"},
        "model": {**sizes, **(model or {})},
        "training": {
            "batch_tokens": batch_tokens, "update_tokens": batch_tokens * passes, "warmup": WARMUP,
            "learning_rate": LEARNING_RATE, "max_updates": never, "validate_every": never, "save_every": never,
            **(training or {}),
        },
        "validation": {"sentences": 0},
    }  # fmt: skip
    path = folder / "experiment.toml"
    path.write_text(tomli_w.dumps(table), encoding="utf-8")
    return path


def encoded(experiment: Path, cache: Path) -> tuple[Experiment, Tokenizers, Store, Sampler]:
    """The experiment with its text in pieces, and what makes updates of it, as our trainer has them."""
    from transduce.data.batching import Sampler
    from transduce.recipe import learn_tokenizers, load_experiment, prepare_data

    given = load_experiment(experiment).experiment
    tokenizers = learn_tokenizers(given)
    store = prepare_data(given, tokenizers, cache).store
    lengths = {name: store.lengths(name) for name in ("source", "target")}
    training = given.training
    sampler = Sampler(lengths, batch_tokens=training.batch_tokens, accumulate=training.accumulate, seed=training.seed)
    return given, tokenizers, store, sampler


def make(folder: Path, experiment: Path, origin: str, updates: int) -> Material:
    """Plan the updates that our trainer will make, and write them down for the peers."""
    _, tokenizers, store, sampler = encoded(experiment, folder / "runs" / ".cache")
    sides = ("source", "target")
    plan = [
        [{side: [store.ids(side, int(i)).tolist() for i in rows] for side in sides} for rows in update.micro_batches]
        for update in islice(sampler.updates(), updates)
    ]
    (folder / "updates.json").write_text(json.dumps(plan), encoding="utf-8")
    counts = [sum(len(row) + 1 for update in plan for rows in update for row in rows[side]) for side in sides]
    return Material(folder, origin, tokenizers.target.size, counts[0] / counts[1])


def flops(sizes: dict[str, Any], vocabulary: int, source_per_target: float) -> float:
    """Floating-point operations of the matrix products of training, for each target token: forward, and twice that
    backward. Products of attention with no weights in them are left out: at these lengths they are a few per cent."""
    d, ff = sizes["d_model"], sizes["d_ff"]
    encoder = sizes["encoder_layers"] * (4 * d * d + 2 * d * ff) * source_per_target
    decoder = sizes["decoder_layers"] * (6 * d * d + 2 * d * ff + 2 * d * d * source_per_target)
    return 3 * 2 * (encoder + decoder + d * vocabulary)
