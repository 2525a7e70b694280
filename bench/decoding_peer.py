"""CTranslate2 as a contender of `decoding.py`: our weights in its format. Runs in a Python of its own."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import transformer_spec

from decoding import answer

BOS, EOS, UNK = 1, 2, 3


def serve(job: dict[str, Any]) -> None:
    folder = Path(job["folder"])
    given = json.loads((folder / "given.json").read_text(encoding="utf-8"))
    model = folder / job["form"]
    convert(given, np.load(folder / "weights.npz"), model, job["form"])
    translator = ctranslate2.Translator(
        str(model), device="cpu", compute_type=job["form"], inter_threads=1, intra_threads=1
    )
    sources = [[*map(str, ids), "</s>"] for ids in given["sources"]]
    for _ in sys.stdin:
        each, ids = [], []
        for at in range(0, len(sources), job["batch"]):
            begun = time.process_time()
            done = translator.translate_batch(
                sources[at : at + job["batch"]], beam_size=job["beam"], length_penalty=1.0
            )
            each.append(time.process_time() - begun)
            ids += [[int(piece) for piece in d.hypotheses[0] if piece != "<unk>"] for d in done]
        answer(each, ids)


def convert(given: dict[str, Any], weights: Any, model: Path, form: str) -> None:
    """Write our weights as a model of theirs."""
    config = given["config"]
    spec = transformer_spec.TransformerSpec.from_config(
        (config["encoder_layers"], config["decoder_layers"]), config["heads"], pre_norm=config["norm"] == "pre"
    )

    def both(target: Any, name: str, rows: slice = slice(None)) -> None:
        target.weight = weights[f"{name}.weight"][rows]
        target.bias = weights[f"{name}.bias"][rows]

    def norm(target: Any, name: str) -> None:
        target.gamma, target.beta = weights[f"{name}.norm.weight"], weights[f"{name}.norm.bias"]

    d = config["d_model"]
    for side, ours in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        embedding = side.embeddings[0] if ours == "encoder" else side.embeddings
        embedding.weight = weights[f"{'source' if ours == 'encoder' else 'target'}_embedding.weight"]
        side.position_encodings.encodings = weights["positions"]
        for i, layer in enumerate(side.layer):
            name = f"{ours}.{i}"
            both(layer.self_attention.linear[0], f"{name}.self_attention.W_qkv")
            both(layer.self_attention.linear[1], f"{name}.self_attention.W_o")
            norm(layer.self_attention.layer_norm, f"{name}.residual_self")
            if ours == "decoder":
                both(layer.attention.linear[0], f"{name}.cross_attention.W_qkv", slice(d))
                both(layer.attention.linear[1], f"{name}.cross_attention.W_qkv", slice(d, None))
                both(layer.attention.linear[2], f"{name}.cross_attention.W_o")
                norm(layer.attention.layer_norm, f"{name}.residual_cross")
            both(layer.ffn.linear_0, f"{name}.feed_forward.W_1")
            both(layer.ffn.linear_1, f"{name}.feed_forward.W_2")
            norm(layer.ffn.layer_norm, f"{name}.residual_feed_forward")
    spec.decoder.projection.weight = weights["projection"]
    names = [str(i) for i in range(given["vocabulary"])]
    names[BOS], names[EOS], names[UNK] = "<s>", "</s>", "<unk>"
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.validate()
    spec.optimize(quantization=None if form == "float32" else form)
    model.mkdir()
    spec.save(str(model))
