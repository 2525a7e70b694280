"""Joey NMT from raw text through its own loop: its tokenizer, sampler, validation and schedule.

Its subwords are SentencePiece's, learned here first, which its documentation has the user do.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import joeynmt
import sentencepiece
import torch
from joeynmt import training
from joeynmt.prediction import predict

from bench.peers.joey import model_settings
from bench.peers.protocol import Json, Link


def settings(job: Json, folder: Path) -> Json:
    """A configuration of theirs, as its file would have it."""
    recipe = job["recipe"]
    side = {
        "max_length": 250, "lowercase": False, "level": "bpe", "voc_file": str(folder / "words.txt"),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(folder / "pieces.model"), "model_type": "unigram", "pretokenizer": "none"},
    }  # fmt: skip
    source, target = job["languages"]
    return {
        "name": "bench", "joeynmt_version": "2.3.0", "model_dir": str(folder / "model"), "random_seed": 1,
        "use_cuda": job["device"] == "cuda", "fp16": False,
        "data": {
            "train": str(folder / "train"), "dev": str(folder / "valid"), "test": str(folder / "test"),
            "dataset_type": "plain", "src": {"lang": source, **side}, "trg": {"lang": target, **side},
        },
        "model": model_settings(job["sizes"]),
        "training": {
            "optimizer": "adamw", "normalization": "tokens", "adam_betas": [0.9, 0.98], "weight_decay": 0.0,
            "scheduling": "warmupinversesquareroot", "learning_rate": recipe["learning_rate"],
            "learning_rate_warmup": recipe["warmup"], "learning_rate_min": 1e-9, "label_smoothing": 0.1,
            "batch_size": recipe["batch_tokens"], "batch_type": "token", "batch_multiplier": recipe["passes"],
            "clip_grad_norm": recipe["clip_norm"], "epochs": 10_000, "validation_freq": recipe["validate_every"],
            "logging_freq": recipe["validate_every"], "early_stopping_metric": "bleu", "print_valid_sents": [],
            "keep_best_ckpts": 1, "overwrite": True,
        },
        "testing": {
            "beam_size": 1, "batch_size": 64, "batch_type": "sentence", "max_output_length": 100,
            "eval_metrics": ["bleu"], "sacrebleu_cfg": {"tokenize": "13a"},
        },
    }  # fmt: skip


def course(job: Json, link: Link) -> None:
    """Train until the harness ends it, telling of each validation and of pairs seen, by the clock."""
    torch.set_num_threads(job["threads"])
    folder = Path(job["run"])
    link.write(ready=True, version=joeynmt.__version__, torch=torch.__version__)
    source, target = job["languages"]
    sentencepiece.SentencePieceTrainer.train(
        input=[str(folder / f"train.{source}"), str(folder / f"train.{target}")], model_prefix=str(folder / "pieces"),
        vocab_size=job["recipe"]["vocabulary"], character_coverage=1.0, model_type="unigram", hard_vocab_limit=False,
        unk_id=0, pad_id=1, bos_id=2, eos_id=3, unk_piece="<unk>", pad_piece="<pad>", bos_piece="<s>", eos_piece="</s>",
    )  # fmt: skip
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "pieces.model"))
    words = [pieces.id_to_piece(i) for i in range(4, len(pieces))]
    (folder / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    (folder / "model").mkdir()
    seen = {"pairs": 0, "updates": 0}

    class Manager(training.TrainManager):
        """Theirs, which tells what it does."""

        def _train_step(self, batch: Any) -> Any:
            done = super()._train_step(batch)
            seen["pairs"] += batch.nseqs
            if self.stats.steps >= seen["updates"] + 10:
                seen["updates"] = self.stats.steps
                link.write(at=time.monotonic(), update=self.stats.steps, pairs=seen["pairs"])
            return done

    def told(*words: Any, **named: Any) -> Any:
        found = predict(*words, **named)
        link.write(at=time.monotonic(), update=seen["updates"], pairs=seen["pairs"], bleu=found[0]["bleu"])
        return found

    training.TrainManager, training.predict = Manager, told
    training.train(rank=0, world_size=0, cfg=settings(job, folder), skip_test=True)
