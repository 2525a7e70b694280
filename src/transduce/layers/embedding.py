"""Token embeddings (paper 3.4)."""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.errors import ConfigError
from transduce.layers.initialise import glorot_uniform

Tie = Literal["all", "target", "none"]


class Embedding(nn.Module):
    """A vector per token, multiplied by √d_model unless `scaled` is false (BERT, GPT).

    The weights start from N(0, 1/d_model), so that the scaled vectors have unit variance like the
    position vectors' order of magnitude, and the same matrix gives logits of unit variance as the
    output projection (the paper doesn't say how they start; the authors' own code does this).
    """

    def __init__(self, vocabulary: int, d_model: int, *, scaled: bool = True) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model) if scaled else 1.0
        self.weight = nn.Parameter(nn.init.normal_(torch.empty(vocabulary, d_model), std=d_model**-0.5))

    def forward(self, ids: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:
        return F.embedding(ids, self.weight) * self.scale


def build_embeddings(
    tie: Tie, source_vocabulary: int, target_vocabulary: int, d_model: int
) -> tuple[Embedding, Embedding, nn.Parameter]:
    """Embeddings of source and target, and the projection to the target vocabulary [v d], one matrix or several.

    all: one for the three (3.4); target: one for the target's two; none: three matrices.
    Raises ConfigError where two vocabularies cannot share one.
    """
    if tie == "all" and source_vocabulary != target_vocabulary:
        raise ConfigError(
            f'model.tie = "all" needs one joint vocabulary, but the source has {source_vocabulary} entries and '
            f'the target {target_vocabulary}: set tokenizer.joint = true, or model.tie = "target" or "none"'
        )
    source = Embedding(source_vocabulary, d_model)
    target = source if tie == "all" else Embedding(target_vocabulary, d_model)
    if tie != "none":
        return source, target, target.weight
    projection = nn.Parameter(torch.empty(target_vocabulary, d_model))
    glorot_uniform(projection)
    return source, target, projection
