"""Hugging Face's Marian: its model in a plain loop, and its `generate` with our weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from transformers import MarianConfig, MarianMTModel
from transformers.utils import logging

from bench.peers.decoding import ask_in_turn, given
from bench.peers.loop import Pass, smoothed, train
from bench.peers.protocol import BOS, EOS, PAD, UNK, Json, Link, run


def build(sizes: Json, vocabulary: int, longest: int) -> MarianMTModel:
    """Marian with the paper's sizes: post-norm, sinusoids, one matrix for all embeddings."""
    logging.set_verbosity_error()
    config = MarianConfig(
        vocab_size=vocabulary, decoder_vocab_size=vocabulary, d_model=sizes["d_model"],
        encoder_layers=sizes["encoder_layers"], decoder_layers=sizes["decoder_layers"],
        encoder_attention_heads=sizes["heads"], decoder_attention_heads=sizes["heads"],
        encoder_ffn_dim=sizes["d_ff"], decoder_ffn_dim=sizes["d_ff"], max_position_embeddings=longest,
        activation_function="relu", dropout=sizes["dropout"], attention_dropout=0.0, activation_dropout=0.0,
        scale_embedding=True, share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
        pad_token_id=PAD, eos_token_id=EOS, bos_token_id=BOS, decoder_start_token_id=BOS, forced_eos_token_id=None,
        init_std=sizes["d_model"] ** -0.5,
    )  # fmt: skip
    return MarianMTModel(config)


def serve(job: Json, link: Link) -> None:
    if job["task"] == "translation":
        translate(job, link)
        return
    model = build(job["sizes"], job["vocabulary"], job["longest"])
    model.config.use_cache = False

    def loss(part: Pass) -> Tensor:
        logits = model(input_ids=part.source, attention_mask=part.source != PAD, decoder_input_ids=part.previous).logits
        return smoothed(logits, part.expected, job["label_smoothing"])

    train(job, link, model, loss, transformers.__version__)


def convert(config: Json, weights: Any, vocabulary: int, longest: int) -> MarianMTModel:
    """Our weights as a model of theirs."""
    model = build({**config, "dropout": 0.0}, vocabulary, longest)
    theirs: dict[str, np.ndarray] = {"model.shared.weight": weights["projection"]}
    for side, layers in (("encoder", config["encoder_layers"]), ("decoder", config["decoder_layers"])):
        theirs[f"model.{side}.embed_positions.weight"] = weights["positions"][:longest]
        for i in range(layers):
            ours, name = f"{side}.{i}", f"model.{side}.layers.{i}"
            for attention, into in (("self_attention", "self_attn"), ("cross_attention", "encoder_attn")):
                if f"{ours}.{attention}.W_o.weight" not in weights:
                    continue
                for part in ("weight", "bias"):
                    split = np.split(weights[f"{ours}.{attention}.W_qkv.{part}"], 3)
                    for letter, value in zip("qkv", split, strict=True):
                        theirs[f"{name}.{into}.{letter}_proj.{part}"] = value
                    theirs[f"{name}.{into}.out_proj.{part}"] = weights[f"{ours}.{attention}.W_o.{part}"]
            for part in ("weight", "bias"):
                for residual, into in (("self", "self_attn"), ("cross", "encoder_attn"), ("feed_forward", "final")):
                    if f"{ours}.residual_{residual}.norm.{part}" in weights:
                        value = weights[f"{ours}.residual_{residual}.norm.{part}"]
                        theirs[f"{name}.{into}_layer_norm.{part}"] = value
                theirs[f"{name}.fc1.{part}"] = weights[f"{ours}.feed_forward.W_1.{part}"]
                theirs[f"{name}.fc2.{part}"] = weights[f"{ours}.feed_forward.W_2.{part}"]
    found = model.load_state_dict(
        {name: torch.from_numpy(value.copy()) for name, value in theirs.items()}, strict=False
    )
    missing = [name for name in found.missing_keys if "embed_tokens" not in name and "lm_head" not in name]
    missing = [name for name in missing if name != "final_logits_bias"]
    if missing or found.unexpected_keys:
        raise ValueError(f"weights that don't fit: {missing[:3]} missing, {found.unexpected_keys[:3]} not known")
    return model.eval()


def translate(job: Json, link: Link) -> None:
    config, weights, sources = given(job)
    device = job["device"]
    most = max(map(len, sources)) + 1 + job["max_extra"]
    model = convert(config, weights, job["vocabulary"], most + 1).to(device)
    if job["precision"] == "bf16":
        model.to(torch.bfloat16)
    banned = [[id] for id in job["banned"] if id not in (PAD, EOS)]

    def some(rows: list[list[int]], beam: int, setting: Json) -> list[list[int]]:
        torch.set_num_threads(setting["threads"])
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        found: list[list[int]] = [[] for _ in rows]
        for at in range(0, len(rows), setting["batch"]):
            chunk = order[at : at + setting["batch"]]
            longest = max(len(rows[i]) for i in chunk) + 1
            ids = torch.full((len(chunk), longest), PAD)
            for row, i in enumerate(chunk):
                ids[row, : len(rows[i]) + 1] = torch.tensor([*rows[i], EOS])
            with torch.inference_mode():
                done = model.generate(
                    ids.to(device), attention_mask=(ids != PAD).to(device), num_beams=beam, do_sample=False,
                    max_new_tokens=longest + job["max_extra"], length_penalty=1.0, early_stopping=True,
                    bad_words_ids=banned,
                )  # fmt: skip
            for i, row in zip(chunk, done.tolist(), strict=True):
                found[i] = [id for id in row if id not in (PAD, BOS, EOS, UNK)]
        return found

    several = [{"threads": job["threads"], "batch": batch} for batch in job["batches"]]
    one = [{"threads": threads, "batch": 1} for threads in sorted({1, job["threads"]})]
    ask_in_turn(job, link, sources, some, several, one, transformers.__version__, torch.__version__)


if __name__ == "__main__":
    run(serve)
