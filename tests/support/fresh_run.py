"""Runs whose weights are as they start: made in a moment, and apt to write anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tests.support.copy_run import tiny_experiment
from transduce.experiment import Experiment
from transduce.run_folder import RunFolder, write_snapshot
from transduce.text.pair import Tokenizers

TEXT = ["red blue 我爱水课", "one two three .", "x@@ y cat dog é"] * 3
"""What the tokenizers learn from."""

TOKENIZERS: dict[str, dict[str, Any]] = {
    "word": {"kind": "word"},
    "sides": {"kind": "word", "joint": False},
    "bpe": {"kind": "bpe", "vocabulary": 300},
    "bpe_sides": {"kind": "bpe", "vocabulary": 300, "joint": False, "split_han": True, "nfkc": True},
    "character": {"kind": "character"},
    "pieces": {"kind": "pieces"},
    "line": {"kind": "word", "target_kind": "line", "joint": False},
}
"""Each kind, and what changes the file of one."""

MODELS: dict[str, dict[str, Any]] = {
    "rnn_search": {"kind": "rnn_search", "d_model": 12},
    "seq2seq": {"kind": "seq2seq", "layers": 1, "d_model": 13},
    "bytenet": {"kind": "bytenet", "encoder_layers": 2, "decoder_layers": 2, "d_model": 12},
    "convs2s": {"kind": "convs2s", "encoder_layers": 1, "decoder_layers": 1, "d_model": 12},
}
"""Models besides the Transformer, with a word vocabulary."""

_HALF = {"layers": 1, "d_model": 12, "d_ff": 13, "heads": 3, "max_positions": 200}
HALVES: dict[str, dict[str, Any]] = {"mask": {"kind": "bert", **_HALF}, "generate": {"kind": "gpt", **_HALF}}
"""A model for each task that makes no text of text."""

_FEED_FORWARD = {"kind": "feed_forward", "d_model": 13, "d_ff": 17, "max_positions": 60}
_LINES = {"joint": False, "target_kind": "line"}
ONE_PASS: dict[str, dict[str, Any]] = {
    **{
        cell: {"task": "label", "model": {"kind": "rnn", "cell": cell, "d_model": 12}}
        for cell in ("rnn", "lstm", "gru")
    },
    **{input: {"task": "label", "model": {**_FEED_FORWARD, "input": input}} for input in ("mean", "concat")},
    "classify": {
        "task": "classify",
        "model": {**HALVES["mask"], "tie": "none"},
        "tokenizer": {"kind": "word", **_LINES},
    },
    "answer": {
        "task": "answer",
        "model": {"kind": "memory_network", "d_model": 13},
        "tokenizer": {"kind": "sentences", **_LINES},
    },
}
"""Tasks that make text of text without a search, each with a model, and its tokenizer where that has to be another."""


def fresh_run(folder: Path, name: str) -> Path:
    """A run of one of those tokenizers or models; its text lies beside it. Returns its run folder."""
    settings = tiny_experiment(folder).model_dump()
    settings["tokenizer"] = {"vocabulary": 99, "if_too_large": "shrink", **TOKENIZERS.get(name, TOKENIZERS["word"])}
    settings["model"] = MODELS.get(name, {**settings["model"], "tie": "target"})
    if name in HALVES:
        settings |= {"task": name, "model": HALVES[name], "decoding": {"beam": 1}}
    if name in ONE_PASS:
        tokenizer = settings["tokenizer"] | ONE_PASS[name].get("tokenizer", {})
        settings |= {**ONE_PASS[name], "tokenizer": tokenizer, "decoding": {}}
    experiment = Experiment.model_validate(settings)
    tokenizers = Tokenizers.train(experiment.tokenizer, lambda: [(line, line) for line in TEXT])
    run = RunFolder.create(folder / "run", experiment, tokenizers)
    torch.manual_seed(7)
    model = experiment.model.build(*run.vocabularies)
    write_snapshot(run.path / "average", {"weights": dict(model.named_parameters())}, {"updates": [1]})
    return run.path
