"""Joey NMT: its model and loss in the plain loop."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import joeynmt
import torch
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.vocabulary import Vocabulary
from torch import Tensor

from bench.peers.loop import Pass, train
from bench.peers.protocol import BOS, EOS, PAD, UNK, Json, Link, run

SPECIALS: Json = {
    "unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "sep_token": None,
    "unk_id": UNK, "pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "sep_id": None, "lang_tags": [],
}  # fmt: skip


def model_settings(sizes: Json) -> Json:
    """The paper's model in its words."""
    side = {
        "type": "transformer", "num_heads": sizes["heads"], "hidden_size": sizes["d_model"], "ff_size": sizes["d_ff"],
        "embeddings": {"embedding_dim": sizes["d_model"], "scale": True, "dropout": sizes["dropout"]},
        "dropout": sizes["dropout"], "layer_norm": sizes.get("norm", "post"),
    }  # fmt: skip
    return {
        "initializer": "xavier_uniform", "embed_initializer": "xavier_uniform", "embed_init_gain": 1.0,
        "init_gain": 1.0, "bias_initializer": "zeros", "tied_embeddings": True, "tied_softmax": True,
        "encoder": {**side, "num_layers": sizes["encoder_layers"]},
        "decoder": {**side, "num_layers": sizes["decoder_layers"]},
    }  # fmt: skip


class Words(Vocabulary):
    """A vocabulary of ids alone. Theirs looks each new word up in a list, which takes minutes for 10,000."""

    def __init__(self, size: int) -> None:
        super().__init__([], SimpleNamespace(**{**SPECIALS, "pad_id": 1, "bos_id": 2, "eos_id": 3, "unk_id": 0}))
        self.pad_index, self.bos_index, self.eos_index, self.unk_index = PAD, BOS, EOS, UNK
        self._itos = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{i}" for i in range(4, size))]
        self._stoi = {word: i for i, word in enumerate(self._itos)}


def exact_dropout(model: Any) -> None:
    """Dropout on the output of sub-layers only, as the paper and all the others here have it."""
    for name, module in model.named_modules():
        if name.endswith(("_att", "pwff_layer")):
            which = module.dropout if hasattr(module, "dropout") else module[2]
            which.p = 0.0


def serve(job: Json, link: Link) -> None:
    if job["task"] == "course":
        from bench.peers.joey_course import course

        course(job, link)
        return
    words = Words(job["vocabulary"])
    model = build_model(model_settings(job["sizes"]), words, words)
    model.loss_function = ("crossentropy", job["label_smoothing"])
    exact_dropout(model)
    device = torch.device(job["device"])

    def loss(part: Pass) -> Tensor:
        target = torch.cat([part.previous[:, :1], part.expected], dim=1)
        batch = Batch(part.source, part.source_lengths, None, target, None, torch.arange(len(target)), device, PAD, EOS)
        return model(return_type="loss", **vars(batch))[0]

    train(job, link, model, loss, joeynmt.__version__)


if __name__ == "__main__":
    run(serve)
