"""`torch.nn.Transformer` in a plain loop."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bench.peers.loop import Pass, embed_positions, smoothed, train
from bench.peers.protocol import PAD, Json, Link, run


class Model(nn.Module):
    """PyTorch's Transformer with tied embeddings and sinusoids, as the paper has them."""

    def __init__(self, job: Json) -> None:
        super().__init__()
        sizes = job["sizes"]
        width = sizes["d_model"]
        self.embedding = nn.Embedding(job["vocabulary"], width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.register_buffer("positions", embed_positions(job["longest"], width))
        self.dropout = nn.Dropout(sizes["dropout"])
        self.transformer = nn.Transformer(
            width, sizes["heads"], sizes["encoder_layers"], sizes["decoder_layers"], sizes["d_ff"], sizes["dropout"],
            batch_first=True,
        )  # fmt: skip
        # The paper has dropout on the output of each sub-layer only; PyTorch's layers have more of it.
        for module in self.transformer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout = nn.Identity()

    def forward(self, source: Tensor, previous: Tensor) -> Tensor:
        hidden = self.transformer(
            self._embed(source), self._embed(previous),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(previous.shape[1], device=previous.device),
            tgt_is_causal=True,
            src_key_padding_mask=_mask(source), memory_key_padding_mask=_mask(source),
        )  # fmt: skip
        return nn.functional.linear(hidden, self.embedding.weight)

    def _embed(self, ids: Tensor) -> Tensor:
        return self.dropout(
            self.embedding(ids) * self.embedding.weight.shape[1] ** 0.5 + self.positions[: ids.shape[1]]
        )


def _mask(ids: Tensor) -> Tensor:
    """−∞ at padding: a mask of the same type as the causal one, as PyTorch wants it."""
    return torch.zeros(ids.shape, device=ids.device).masked_fill(ids == PAD, float("-inf"))


def serve(job: Json, link: Link) -> None:
    model = Model(job)

    def loss(part: Pass) -> Tensor:
        return smoothed(model(part.source, part.previous), part.expected, job["label_smoothing"])

    train(job, link, model, loss, torch.__version__)


if __name__ == "__main__":
    run(serve)
