"""Runs on texts that count in words, in steps of 1, 2 or 3, round and round: every word follows from two others."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.support.copy_run import write_lines
from transduce.experiment import Experiment
from transduce.recipe import train

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LONGEST = 9


def counting(count: int, seed: int) -> list[tuple[str, str]]:
    """Texts of 3 to `LONGEST` words, and what each does: `in steps of 2`."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        start, step, length = rng.randrange(len(WORDS)), rng.randint(1, 3), rng.randint(3, LONGEST)
        text = " ".join(WORDS[(start + i * step) % len(WORDS)] for i in range(length))
        found.append((text, f"in steps of {step}"))
    return found


def settings(folder: Path, task: str, **training: Any) -> dict[str, Any]:
    """Settings of a run of a task; its text is written into `folder`. Everything may occur again and again."""
    folder.mkdir(parents=True, exist_ok=True)
    corpora = {}
    for name, count, seed in (("train", 2000, 1), ("valid", 50, 2), ("test", 60, 3)):
        pairs = counting(count, seed)
        write_lines(folder / f"{name}.txt", [text for text, _ in pairs])
        write_lines(folder / f"{name}.label", [label for _, label in pairs])
        corpora[name] = (
            {"source": folder / f"{name}.txt", "target": folder / f"{name}.label"}
            if task == "classify"
            else {"text": folder / f"{name}.txt"}
        )
    return {
        "name": "counting",
        "task": task,
        "preset": "tiny",
        "data": {
            "train": [corpora["train"]],
            "valid": corpora["valid"],
            "test": {"held-out": corpora["test"]},
            "filters": {"held_out": "keep", "duplicates": "keep", "max_length": 20},
        },
        "tokenizer": {"kind": "word"},
        "model": {"layers": 2, "d_model": 32, "d_ff": 64, "heads": 4, "dropout": 0.0, "attention_dropout": 0.0,
                  "max_positions": 31},
        "training": {
            "batch_tokens": 600, "update_tokens": 600, "learning_rate": 5e-3, "warmup": 50, "decay": "linear",
            "max_updates": 400, "validate_every": 200, "save_every": 200, "average": 1, "patience": 0,
            "clip_norm": 1.0, "log_every": 1, **training,
        },
        "compute": {"device": "cpu", "threads": 1},
    }  # fmt: skip


def train_counting_run(folder: Path, task: str, **training: Any) -> Path:
    """Train such a run; returns its run folder."""
    train(Experiment.model_validate(settings(folder, task, **training)), folder / "run")
    return folder / "run"
