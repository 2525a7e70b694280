"""OpenNMT-py: its model and loss in the plain loop. It has the normalisation before each sub-layer only."""

from __future__ import annotations

from argparse import Namespace

from bench.peers.opennmt_family import Words, without_text_tools

without_text_tools()

import onmt  # noqa: E402
import torch  # noqa: E402
from onmt.model_builder import build_base_model  # noqa: E402
from onmt.opts import train_opts  # noqa: E402
from onmt.utils.loss import LossCompute  # noqa: E402
from onmt.utils.parse import ArgumentParser  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from bench.peers.loop import Pass, train  # noqa: E402
from bench.peers.protocol import Json, Link, run  # noqa: E402


def options(job: Json) -> Namespace:
    """The paper's model in its words."""
    parser = ArgumentParser()
    train_opts(parser)
    given, _ = parser.parse_known_args(["-data", "{}", "-src_vocab", "none"])
    sizes = job["sizes"]
    wanted = {
        "encoder_type": "transformer", "decoder_type": "transformer", "model_type": "text", "model_task": "seq2seq",
        "enc_layers": sizes["encoder_layers"], "dec_layers": sizes["decoder_layers"], "heads": sizes["heads"],
        "transformer_ff": sizes["d_ff"], "position_encoding": True, "add_qkvbias": True,
        "dropout": [sizes["dropout"]], "attention_dropout": [0.0], "label_smoothing": job["label_smoothing"],
        "share_embeddings": True, "share_decoder_embeddings": True, "copy_attn": False, "world_size": 1, "gpu": -1,
        "gpu_ranks": [],
    }  # fmt: skip
    wanted |= dict.fromkeys(
        ("enc_hid_size", "dec_hid_size", "hidden_size", "src_word_vec_size", "tgt_word_vec_size", "word_vec_size"),
        sizes["d_model"],
    )
    for name, value in wanted.items():
        setattr(given, name, value)
    return given


def serve(job: Json, link: Link) -> None:
    words = Words(job["vocabulary"])
    given = options(job)
    model = build_base_model(given, {"src": words, "tgt": words})
    for name, module in model.named_modules():
        if name.endswith("feed_forward"):
            module.dropout_1 = nn.Identity()
    # As its own training does: the layers are made without values.
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
    compute = LossCompute.from_opts(given, model, words)

    def loss(part: Pass) -> Tensor:
        target = torch.cat([part.previous[:, :1], part.expected], dim=1)[:, :, None]
        source = part.source[:, :, None]
        output, attention = model(source, target, part.source_lengths)
        return compute({"src": source, "tgt": target, "srclen": part.source_lengths}, output, attention)[0]

    train(job, link, model, loss, onmt.__version__)


if __name__ == "__main__":
    run(serve)
