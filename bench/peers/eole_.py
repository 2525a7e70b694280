"""eole: its model and loss in the plain loop. It has the normalisation before each sub-layer only."""

from __future__ import annotations

from types import SimpleNamespace

from bench.peers.opennmt_family import Words, without_text_tools

without_text_tools()

import eole  # noqa: E402
import torch  # noqa: E402
from eole.config.models import TransformerModelConfig  # noqa: E402
from eole.models.model import EncoderDecoderModel  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from bench.peers.loop import Pass, smoothed, train  # noqa: E402
from bench.peers.protocol import Json, Link, run  # noqa: E402


def serve(job: Json, link: Link) -> None:
    sizes = job["sizes"]
    config = TransformerModelConfig(
        hidden_size=sizes["d_model"], word_vec_size=sizes["d_model"], transformer_ff=sizes["d_ff"],
        heads=sizes["heads"], share_embeddings=True, share_decoder_embeddings=True, add_qkvbias=True, add_ffnbias=True,
        add_final_linear_bias=True, embeddings={"position_encoding_type": "SinusoidalInterleaved"},
        encoder={"encoder_type": "transformer", "layers": sizes["encoder_layers"]},
        decoder={"decoder_type": "transformer", "layers": sizes["decoder_layers"]},
    )  # fmt: skip
    words = Words(job["vocabulary"])
    running = SimpleNamespace(
        dropout=[sizes["dropout"]], attention_dropout=[0.0], self_attn_backend="pytorch", parallel_gpu=1,
        use_ckpting=[], optim="adam", world_size=1, gpu_ranks=[], param_init_method="xavier_uniform",
        compute_dtype=torch.float32,
    )  # fmt: skip
    vocabularies = {"src": words, "tgt": words, "specials": {"pad_token": "<blank>", "unk_token": "<unk>"}}
    model = EncoderDecoderModel.build_blocks(config, vocabularies, running_config=running)
    model.build_generator(config, running, vocabularies)
    model.init_weights(running)
    for name, module in model.named_modules():
        if name.endswith("mlp") and hasattr(module, "dropout_1"):
            module.dropout_1 = nn.Identity()

    def loss(part: Pass) -> Tensor:
        target = torch.cat([part.previous[:, :1], part.expected], dim=1)
        hidden = model(part.source, target, part.source_lengths).dec_out
        # Its own loss is this one of PyTorch too.
        return smoothed(model.generator(hidden), part.expected, job["label_smoothing"])

    train(job, link, model, loss, eole.__version__)


if __name__ == "__main__":
    run(serve)
