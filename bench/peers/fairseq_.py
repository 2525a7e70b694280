"""fairseq: its model and its label-smoothed criterion in the plain loop."""

from __future__ import annotations

from types import SimpleNamespace

import fairseq
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerConfig, TransformerModelBase
from torch import Tensor

from bench.peers.loop import Pass, train
from bench.peers.protocol import BOS, EOS, PAD, UNK, Json, Link, run


def serve(job: Json, link: Link) -> None:
    sizes = job["sizes"]
    words = Dictionary()
    words.symbols = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{i}" for i in range(4, job["vocabulary"]))]
    words.indices = {word: i for i, word in enumerate(words.symbols)}
    words.count = [1] * len(words.symbols)
    words.pad_index, words.bos_index, words.eos_index, words.unk_index = PAD, BOS, EOS, UNK
    config = TransformerConfig()
    for side, layers in ((config.encoder, "encoder_layers"), (config.decoder, "decoder_layers")):
        side.embed_dim, side.ffn_embed_dim = sizes["d_model"], sizes["d_ff"]
        side.attention_heads, side.layers = sizes["heads"], sizes[layers]
    config.decoder.input_dim = config.decoder.output_dim = sizes["d_model"]
    config.dropout, config.attention_dropout, config.activation_dropout = sizes["dropout"], 0.0, 0.0
    config.share_all_embeddings, config.max_source_positions, config.max_target_positions = True, 1024, 1024
    task = SimpleNamespace(source_dictionary=words, target_dictionary=words)
    model = TransformerModelBase.build_model(config, task)
    criterion = LabelSmoothedCrossEntropyCriterion(task, sentence_avg=False, label_smoothing=job["label_smoothing"])

    def loss(part: Pass) -> Tensor:
        given = {
            "src_tokens": part.source, "src_lengths": part.source_lengths, "prev_output_tokens": part.previous,
        }  # fmt: skip
        sample = {"net_input": given, "target": part.expected, "ntokens": int(part.target_lengths.sum())}
        return criterion(model, sample)[0]

    train(job, link, model, loss, fairseq.__version__)


if __name__ == "__main__":
    run(serve)
