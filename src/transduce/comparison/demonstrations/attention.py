"""Why scores are scaled, how words are hidden, and what additive attention costs (article 2.5.6, 2.8.1)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from transduce.comparison.demonstrations.demonstration import Demonstration, Lines, seeded
from transduce.comparison.document import Table
from transduce.layers.additive_attention import additive_scores
from transduce.layers.attention import attention_scores, attention_weights
from transduce.layers.tap import record
from transduce.models import TransformerConfig
from transduce.text.specials import BOS, RESERVED

WIDTHS = (4, 16, 64, 256, 512)
KEYS, QUERIES = 10, 400
KEPT, LOST = 0.8, 0.5
"""Shares of the gradient at the smallest width: scaled scores keep more than the one, others less than the other."""


def gradient(scores: Tensor) -> float:
    """Mean over the queries of the largest derivative of a weight by a score."""
    scores = scores.detach().requires_grad_()
    weights = attention_weights(scores)
    rows = [torch.autograd.grad(weights[:, j].sum(), scores, retain_graph=True)[0] for j in range(scores.shape[1])]
    return float(torch.stack(rows, 1).abs().amax((1, 2)).mean())


def saturation() -> Demonstration:
    scaled, plain, deviation, top = [], [], [], []
    with seeded():
        for d_k in WIDTHS:
            scores = attention_scores(torch.randn(QUERIES, d_k), torch.randn(KEYS, d_k))
            unscaled = scores * math.sqrt(d_k)
            scaled.append(gradient(scores))
            plain.append(gradient(unscaled))
            deviation.append(float(unscaled.std()))
            top.append(float(attention_weights(unscaled).amax(-1).mean()))
    rows = [[f"{d}", f"{s:.1f}", f"{w:.3f}", f"{p:.4f}", f"{g:.4f}"]
            for d, s, w, p, g in zip(WIDTHS, deviation, top, plain, scaled, strict=True)]  # fmt: skip
    return Demonstration(
        title="Scaling keeps the softmax from saturating",
        section="2.5.6",
        says="The larger d_k, the wilder the products; large ones saturate the softmax, whose gradient is then tiny. "
        "Divided by √d_k their variance is 1 again, and training goes on.",
        rule=f"from d_k = {WIDTHS[0]} to {WIDTHS[-1]} at least {KEPT:.0%} of the gradient is left with scaling, and "
        f"less than {LOST:.0%} without",
        measured=f"Without scaling {plain[-1] / plain[0]:.0%} of the gradient at d_k = {WIDTHS[0]} is left at "
        f"{WIDTHS[-1]}, with it {scaled[-1] / scaled[0]:.0%}. Products deviate by {deviation[-1]:.1f} there.",
        holds=scaled[-1] >= KEPT * scaled[0] and plain[-1] < LOST * plain[0],
        table=Table(["d_k", "deviation of q · k", "largest weight, not scaled", "gradient, not scaled",
                     "gradient, scaled"], rows),
        charts=[Lines("largest derivative of a weight by a score", "d_k", "",
                      [("scaled", WIDTHS, scaled), ("not scaled", WIDTHS, plain)], log=True)],
    )  # fmt: skip


def hidden_by(score: float) -> tuple[float, float, float]:
    """With later words hidden by this score in a real decoder: the largest weight of a later word, how far from 1 a
    row's weights sum at most, and by how much another last word changes predictions before it at most."""
    settings = TransformerConfig(encoder_layers=1, decoder_layers=2, d_model=64, d_ff=128, heads=4, dropout=0.0)
    weights: list[Tensor] = []

    def hear(name: str, value: Tensor) -> Tensor:
        if name.endswith(".self.weights") and name.startswith("decoder"):
            weights.append(value)
        hides = name.endswith(".self.scores") and name.startswith("decoder")
        return torch.where(value == -math.inf, score, value) if hides else value

    with seeded(), torch.no_grad(), record(hear):
        model = settings.build(RESERVED + 11, RESERVED + 11).eval()
        source = torch.randint(RESERVED, RESERVED + 11, (1, 5))
        previous = torch.cat([torch.tensor([[BOS]]), torch.randint(RESERVED, RESERVED + 10, (1, 6))], 1)
        other = previous.clone()
        other[0, -1] += 1
        one, two = (model(source, torch.tensor([5]), ids) for ids in (previous, other))
    later = max(float(w.triu(1).max()) for w in weights)
    off = max(float((w.sum(-1) - 1).abs().max()) for w in weights)
    return later, off, float((one - two)[0, :-1].abs().max())


def masking() -> Demonstration:
    infinite, zero = hidden_by(-math.inf), hidden_by(0.0)
    rows = [[name, *(f"{value:.2g}" for value in found)] for name, found in (("−∞", infinite), ("0", zero))]
    return Demonstration(
        title="Hidden by −∞, not by 0",
        section="2.8.1",
        says="With a score of −∞ a hidden word's weight is exactly 0 and the others still sum to 1. A score of 0 would "
        "not do: e⁰ = 1, and the word would get weight.",
        rule="by −∞ the weight of every later word is 0, rows sum to 1, and no later word changes a prediction; by 0 "
        "later words have weight and change predictions",
        measured=f"By −∞ a later word weighs {infinite[0]:g} and changes earlier predictions by {infinite[2]:g}; by 0 "
        f"it weighs up to {zero[0]:.2f} and changes them by up to {zero[2]:.2f}.",
        holds=infinite[0] == infinite[2] == 0 and infinite[1] < 1e-6 and zero[0] > 0.01 and zero[2] > 1e-4,
        table=Table(["hidden by", "largest weight of a later word", "|sum of a row − 1|",
                     "largest change of an earlier logit"], rows),
    )  # fmt: skip


BATCH, LENGTH, REPEATS = 8, 48, 5
COST_WIDTHS = (16, 64, 256)


def cost(score: Callable[[Tensor, Tensor], Tensor], d_k: int) -> tuple[float, int]:
    """Seconds of scores and their gradients for all pairs of words, and bytes that are kept for the gradients."""
    q, k = (torch.randn(BATCH, LENGTH, d_k, requires_grad=True) for _ in range(2))
    kept: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        score(q, k).sum().backward()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        score(q, k).sum().backward()
        times.append(time.perf_counter() - started)
    return min(times), sum(kept.values())


def additive_against_dot() -> Demonstration:
    additive, dot = [], []
    with seeded():
        for d_k in COST_WIDTHS:
            v = torch.randn(d_k, requires_grad=True)
            additive.append(cost(partial(additive_scores, v=v), d_k))
            dot.append(cost(attention_scores, d_k))
    rows = [[f"{d}", f"{1e3 * a[0]:.2f}", f"{1e3 * b[0]:.2f}", f"{a[1] / 2**20:.2f}", f"{b[1] / 2**20:.2f}"]
            for d, a, b in zip(COST_WIDTHS, additive, dot, strict=True)]  # fmt: skip
    pairs = list(zip(additive, dot, strict=True))
    faster, smaller = ([a[i] / b[i] for a, b in pairs] for i in range(2))
    return Demonstration(
        title="Additive and dot-product attention: time and memory",
        section="2.5.6",
        says="In theory they cost about the same, but the dot product is one fast product of matrices: faster, and "
        "with less memory.",
        rule="at every width the dot product takes less time and keeps fewer bytes",
        measured=f"Scores of {LENGTH} words by {LENGTH} and their gradients take at least {min(faster):.0f} times as "
        f"long by addition, and at least {min(smaller):.0f} times the memory.",
        holds=min(faster) > 1 and min(smaller) > 1,
        table=Table(["d_k", "additive, ms", "dot, ms", "additive, MiB", "dot, MiB"], rows),
        charts=[
            Lines("time", "d_k", "ms", [("additive", COST_WIDTHS, [1e3 * a[0] for a in additive]),
                                        ("dot product", COST_WIDTHS, [1e3 * b[0] for b in dot])], log=True),
            Lines("memory", "d_k", "MiB", [("additive", COST_WIDTHS, [a[1] / 2**20 for a in additive]),
                                           ("dot product", COST_WIDTHS, [b[1] / 2**20 for b in dot])], log=True),
        ],
    )  # fmt: skip
