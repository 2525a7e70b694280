"""A two-layer model that copies its input, trained in seconds: what it should answer is its input."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from transduce.devices import ComputeConfig
from transduce.experiment import Experiment
from transduce.recipe import train
from transduce.translator import Translator

_TEXT = """
red blue green black white yellow one two three four five six seven eight nine ten cat dog bird fish horse house
tree river hill road door book stone cloud rain snow wind fire bread milk apple salt the a is in on under near with
and not big small old new good bad I you we they see like . ? !
"""
WORDS = _TEXT.split()
"""The word types of the language that is copied."""


def sentence(rng: random.Random, longest: int = 10, unknown: float = 0.0) -> str:
    """1 to `longest` words at random; each is one never seen elsewhere with the probability `unknown`."""
    words = [rng.choice(WORDS) for _ in range(rng.randint(1, longest))]
    return " ".join(f"x{rng.getrandbits(40)}" if rng.random() < unknown else word for word in words)


def sentences(count: int, seed: int, longest: int = 10) -> list[str]:
    rng = random.Random(seed)
    return [sentence(rng, longest) for _ in range(count)]


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return path


def copy_settings(
    folder: Path, *, pairs: int = 5000, unknown: float = 0.04, **changes: dict[str, Any]
) -> dict[str, Any]:
    """Settings of a copy run on text that is written into `folder`; `changes` go over its tables.

    `unknown` is the share of words that occur in one pair only and so are unknown to a word vocabulary: the
    model learns to copy the unknown word too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    training = write_lines(folder / "train.txt", [sentence(rng, 12, unknown) for _ in range(pairs)])
    valid = write_lines(folder / "valid.txt", sentences(50, seed=2))
    settings: dict[str, Any] = {
        "name": "copy",
        "preset": "tiny",
        "data": {
            "train": [{"source": training, "target": training}],
            "valid": {"source": valid, "target": valid},
            "filters": {"held_out": "keep", "duplicates": "keep", "max_length": 60},
        },
        "tokenizer": {"kind": "word", "minimum_count": 3},
        "model": {"encoder_layers": 2, "decoder_layers": 2, "d_model": 32, "d_ff": 64, "heads": 4, "dropout": 0.0},
        "training": {
            "batch_tokens": 768, "update_tokens": 768, "learning_rate": 1e-2, "warmup": 100, "decay": "linear",
            "max_updates": 600, "validate_every": 300, "save_every": 50, "average": 2, "patience": 0, "clip_norm": 1.0,
        },
        "validation": {"sentences": 0},
        "compute": {"device": "cpu", "threads": 1},
    }  # fmt: skip
    for table, values in changes.items():
        settings[table] = settings[table] | values
    return settings


def train_copy_run(folder: Path, **options: Any) -> Path:
    """Train a copy run with the options of `copy_settings`; returns its run folder."""
    train(Experiment.model_validate(copy_settings(folder, **options)), folder / "run")
    return folder / "run"


def load(*runs: Path, weights: str = "auto") -> Translator:
    """A translator on one thread: with so small a model more threads only wait for each other."""
    return Translator.load(*runs, weights=weights, compute=ComputeConfig(device="cpu", threads=1))


def tiny_experiment(folder: Path, **training: Any) -> Experiment:
    """A run of a moment, which learns nothing much: 211 pairs, one layer, dropout, updates of two batches each.

    Every update is in the journal; validation and checkpoint come every five.
    """
    settings = copy_settings(
        folder,
        pairs=211,
        model={"encoder_layers": 1, "decoder_layers": 1, "d_model": 12, "d_ff": 13, "heads": 3, "dropout": 0.1},
        training={
            "batch_tokens": 300, "update_tokens": 600, "max_updates": 20, "validate_every": 5, "save_every": 5,
            "log_every": 1, "average": 3, "decay": "inverse_sqrt", "warmup": 7, **training,
        },
    )  # fmt: skip
    return Experiment.model_validate(settings)
