"""Sockeye: its model, traced as it does, and its loss in the plain loop."""

from __future__ import annotations

import sockeye
import torch
from sockeye import data_io, encoder, transformer
from sockeye import model as sockeye_model
from sockeye.loss import CrossEntropyLoss
from torch import Tensor

from bench.peers.loop import Pass, train
from bench.peers.protocol import Json, Link, run


def build(job: Json) -> sockeye_model.SockeyeModel:
    sizes, longest = job["sizes"], job["longest"]

    def side(count: int) -> transformer.TransformerConfig:
        return transformer.TransformerConfig(
            model_size=sizes["d_model"], attention_heads=sizes["heads"], feed_forward_num_hidden=sizes["d_ff"],
            act_type="relu", num_layers=count, dropout_attention=0.0, dropout_act=0.0,
            dropout_prepost=sizes["dropout"], positional_embedding_type="fixed", preprocess_sequence="",
            postprocess_sequence="drn", max_seq_len_source=longest, max_seq_len_target=longest,
            depth_key_value=sizes["d_model"],
        )  # fmt: skip

    embedding = encoder.EmbeddingConfig(vocab_size=job["vocabulary"], num_embed=sizes["d_model"], dropout=0.0)
    data = data_io.DataConfig(
        data_statistics=None, max_seq_len_source=longest, max_seq_len_target=longest, num_source_factors=1,
        num_target_factors=1,
    )  # fmt: skip
    config = sockeye_model.ModelConfig(
        config_data=data, vocab_source_size=job["vocabulary"], vocab_target_size=job["vocabulary"],
        config_embed_source=embedding, config_embed_target=embedding, config_encoder=side(sizes["encoder_layers"]),
        config_decoder=side(sizes["decoder_layers"]), weight_tying_type="src_trg_softmax",
    )  # fmt: skip
    return sockeye_model.SockeyeModel(config)


def serve(job: Json, link: Link) -> None:
    model = build(job)
    # As its own training does: some parameters are made without values.
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            torch.nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            torch.nn.init.zeros_(parameter)
    torch.nn.init.normal_(model.embedding_source.embedding.weight, std=job["sizes"]["d_model"] ** -0.5)
    criterion = CrossEntropyLoss(label_smoothing=job["label_smoothing"])
    traced: list[torch.jit.ScriptModule] = []

    def loss(part: Pass) -> Tensor:
        # Source, and how many of its places are no padding, as (batch, 1 factor).
        lengths = torch.stack([part.source_lengths, part.source_lengths], dim=1)
        given = (part.source[:, :, None], lengths, part.previous[:, :, None], part.target_lengths)
        if not traced:
            traced.append(torch.jit.trace(model, given, strict=False, check_trace=False))
        logits = traced[0](*given)["logits"]
        # Its loss is the mean over the tokens.
        mean, _ = criterion({"logits": logits}, {"target_label": part.expected})
        return mean * part.target_lengths.sum()

    train(job, link, model, loss, sockeye.__version__)


if __name__ == "__main__":
    run(serve)
