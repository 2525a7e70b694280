"""CTranslate2 with our weights, in float32 or int8."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ctranslate2
from ctranslate2.specs import transformer_spec

from bench.peers.decoding import ask_in_turn, given
from bench.peers.protocol import BOS, EOS, UNK, Json, Link, run


def serve(job: Json, link: Link) -> None:
    config, weights, sources = given(job)
    model = Path(job["folder"]) / f"ctranslate2-{job['form']}-{job['mode']}"
    form = "bfloat16" if job["precision"] == "bf16" else job["form"]
    if not model.is_dir():
        convert(config, weights, job["vocabulary"], model, job["form"])
    translators: dict[tuple[int, int], ctranslate2.Translator] = {}

    def some(rows: list[list[str]], beam: int, setting: Json) -> list[list[int]]:
        key = (setting["workers"], setting["threads"])
        if key not in translators:
            translators[key] = ctranslate2.Translator(
                str(model), device=job["device"], compute_type=form, inter_threads=key[0], intra_threads=key[1]
            )
        longest = max(map(len, rows)) + job["max_extra"]
        done = translators[key].translate_batch(
            rows, beam_size=beam, length_penalty=1.0, max_batch_size=setting["batch"], max_decoding_length=longest
        )
        return [[int(piece) for piece in found.hypotheses[0] if piece != "<unk>"] for found in done]

    threads = job["threads"]
    # int8 with several threads for one worker collapses on some machines, to a tenth of the speed of one thread.
    shapes = [(threads, 1)] if job["form"] == "int8" else sorted({(threads, 1), (1, threads)})
    several = [
        {"workers": workers, "threads": each, "batch": batch} for workers, each in shapes for batch in job["batches"]
    ]
    alone = [1] if job["form"] == "int8" else sorted({1, threads})
    one = [{"workers": 1, "threads": each, "batch": 1} for each in alone]
    sentences = [[*map(str, ids), "</s>"] for ids in sources]
    ask_in_turn(job, link, sentences, some, several, one, ctranslate2.__version__)


def convert(config: Json, weights: Any, vocabulary: int, model: Path, form: str) -> None:
    """Write our weights as a model of theirs."""
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
    names = [str(i) for i in range(vocabulary)]
    names[BOS], names[EOS], names[UNK] = "<s>", "</s>", "<unk>"
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.validate()
    spec.optimize(quantization=None if form == "float32" else form)
    model.mkdir()
    spec.save(str(model))


if __name__ == "__main__":
    run(serve)
