"""What can be seen only where something is learned: scores by d_k, positions beyond the training length, depth.

Tasks and models are so small that all takes a minute; each batch is drawn anew, so that nothing can be remembered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transduce.comparison.demonstrations.demonstration import Demonstration, Lines, seeded
from transduce.comparison.document import Table
from transduce.data.batch import Batch
from transduce.layers.additive_attention import additive_scores, dot_scores
from transduce.layers.attention import attention_scores, attention_weights
from transduce.layers.blocks import BlockSizes, EncoderLayer
from transduce.layers.embedding import Embedding
from transduce.layers.position import Positions, SinusoidalPositions
from transduce.layers.residual import Norm
from transduce.models import TransformerConfig
from transduce.models.contract import Model
from transduce.tasks import TASKS
from transduce.text.specials import RESERVED

SEEDS = (1, 2)
LAST = 20
"""Updates at the end over which a loss is averaged."""
LEARNED = 0.5
"""Share of the loss of guessing below which something was learned."""


def learn(model: nn.Module, loss: Callable[[], Tensor], *, updates: int, rate: float, warmup: int = 1) -> float:
    """Adam on fresh batches; the mean of the last losses, in nats."""
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for update in range(1, updates + 1):
        optimizer.param_groups[0]["lr"] = rate * min(1, update / warmup)
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(float(value.detach()))
    return sum(losses[-LAST:]) / len(losses[-LAST:])


Scores = Callable[[Tensor, Tensor], Tensor]
WIDTHS = (4, 32, 256)
ROWS, KEYS, WORDS, LABELS, D_MODEL = 128, 6, 16, 4, 16
WORSE = 1.5
"""A loss that is more times another is a worse one."""


class Lookup(nn.Module):
    """Finds the word that is asked for among others, by attention, and tells the label that stands beside it.

    q and k begin with unit variance, as where the article reasons about their product.
    """

    def __init__(self, score: str, d_k: int) -> None:
        super().__init__()
        self.words = Embedding(WORDS, D_MODEL)
        self.W_q, self.W_k = (nn.Linear(D_MODEL, d_k, bias=False) for _ in range(2))
        for linear in (self.W_q, self.W_k):
            nn.init.normal_(linear.weight, std=D_MODEL**-0.5)
        self.v = nn.Parameter(torch.randn(d_k) * d_k**-0.5)
        self.values = nn.Parameter(torch.randn(LABELS, LABELS))
        kinds: dict[str, Scores] = {
            "additive": partial(additive_scores, v=self.v),
            "dot": dot_scores,
            "scaled dot": attention_scores,
        }
        self.score = kinds[score]

    def forward(self, asked: Tensor, words: Tensor, labels: Tensor) -> Tensor:
        """Logits of the label [b l] for one word asked [b 1] among words and their labels [b s]."""
        scores = self.score(self.W_q(self.words(asked)), self.W_k(self.words(words)))
        return (attention_weights(scores) @ self.values[labels])[:, 0]

    def loss(self) -> Tensor:
        words = torch.rand(ROWS, WORDS).argsort(1)[:, :KEYS]
        labels, at = torch.randint(LABELS, (ROWS, KEYS)), torch.randint(KEYS, (ROWS, 1))
        return F.cross_entropy(self(words.gather(1, at), words, labels), labels.gather(1, at)[:, 0])


def scores_by_width(updates: int = 120) -> Demonstration:
    found: dict[str, list[float]] = {"additive": [], "dot": [], "scaled dot": []}
    for name, losses in found.items():
        for d_k in WIDTHS:
            total = 0.0
            for seed in SEEDS:
                with seeded(seed):
                    model = Lookup(name, d_k)
                    total += learn(model, model.loss, updates=updates, rate=1e-2)
            losses.append(total / len(SEEDS))
    first, last = ({name: losses[i] for name, losses in found.items()} for i in (0, -1))
    alike = first["dot"] <= WORSE * first["additive"]
    behind = last["dot"] > WORSE * last["additive"]
    mended = last["scaled dot"] <= WORSE * last["additive"]
    rows = [[name, *(f"{value:.3f}" for value in losses)] for name, losses in found.items()]
    return Demonstration(
        title="Additive and dot-product attention: quality by d_k",
        section="2.5.6",
        says="At a large d_k the plain dot product falls behind additive attention; scaling is what mends that.",
        rule=f"at d_k = {WIDTHS[0]} the plain dot product's loss is at most {WORSE:g} times that of additive "
        f"attention; at {WIDTHS[-1]} it is more, and that of the scaled one is not",
        measured=f"After {updates} updates of finding a word among {KEYS}, at d_k = {WIDTHS[-1]}: additive "
        f"{last['additive']:.2f}, dot {last['dot']:.2f}, scaled dot {last['scaled dot']:.2f} nats; at {WIDTHS[0]}: "
        f"{first['additive']:.2f}, {first['dot']:.2f}, {first['scaled dot']:.2f}.",
        holds=alike and behind and mended,
        table=Table(["loss in nats", *(f"d_k = {d}" for d in WIDTHS)], rows),
        charts=[Lines("loss by d_k", "d_k", "nats", [(n, WIDTHS, v) for n, v in found.items()], log=True)],
    )


LONGEST, LENGTHS = 10, (4, 6, 8, 10, 12, 14, 16, 20)
"""Longest sequence in training, and those that are tested, in tokens."""
KINDS: tuple[Positions, ...] = ("sinusoidal", "learned", "scalar", "none")
CLOSE = 0.1
"""Shares of right tokens that differ by less are alike."""


def _copies(shortest: int, longest: int, rows: int) -> Batch:
    lengths = torch.randint(shortest, longest + 1, (rows,)).tolist()
    texts = [torch.randint(RESERVED, RESERVED + 12, (n,)).tolist() for n in lengths]
    return TASKS["translate"].batch(texts, texts, range(rows))


def copying(kind: Positions, updates: int, seed: int) -> list[float]:
    """Share of the tokens that a small Transformer copies rightly, told those before, by the length of the sequence."""
    task = TASKS["translate"]
    with seeded(seed):
        settings = TransformerConfig(
            encoder_layers=1, decoder_layers=1, d_model=32, d_ff=64, heads=4, dropout=0.0, positions=kind,
            max_positions=64,
        )  # fmt: skip
        model: Model = settings.build(RESERVED + 12, RESERVED + 12)

        def loss() -> Tensor:
            batch = _copies(3, LONGEST, 32)
            return task.loss(model, batch, 0.0) / int(batch["expected"].lengths.sum())

        learn(model, loss, updates=updates, rate=5e-3)
        found = []
        for n in LENGTHS:
            batch = _copies(n, n, 64)
            with torch.no_grad():
                told = model.project(task.hidden(model, batch)).argmax(-1)
            found.append(float((told == batch["expected"].ids)[:, :n].float().mean()))
    return found


def positions_beyond(updates: int = 250) -> Demonstration:
    tries = {kind: [copying(kind, updates, seed) for seed in SEEDS] for kind in KINDS}
    found = {kind: [sum(shares) / len(SEEDS) for shares in zip(*runs, strict=True)] for kind, runs in tries.items()}
    at, end = LENGTHS.index(LONGEST), len(LENGTHS) - 1
    alike = abs(found["sinusoidal"][at] - found["learned"][at]) < CLOSE
    further = found["sinusoidal"][end] - found["learned"][end]
    rows = [[kind, *(f"{value:.0%}" for value in shares)] for kind, shares in found.items()]
    return Demonstration(
        title="Learned and sinusoidal positions, also beyond the training length",
        section="2.4.2",
        says="Learned positions do almost as well; sinusoids were chosen because they may carry over to sentences "
        "longer than any in training. A bare number has no such length behind it.",
        rule=f"at {LONGEST} tokens, the longest in training, both are within {CLOSE:.0%}; at {LENGTHS[-1]} sinusoids "
        f"are right for at least {CLOSE:.0%} more tokens than learned positions, and at both for no fewer than bare "
        "numbers",
        measured=f"Copying after {updates} updates, sinusoidal and learned: {found['sinusoidal'][at]:.0%} and "
        f"{found['learned'][at]:.0%} of the tokens right at {LONGEST}, {found['sinusoidal'][end]:.0%} and "
        f"{found['learned'][end]:.0%} at {LENGTHS[-1]}; bare numbers {found['scalar'][at]:.0%} and "
        f"{found['scalar'][end]:.0%}, no positions {found['none'][at]:.0%} and {found['none'][end]:.0%}.",
        holds=alike and further >= CLOSE and all(found["sinusoidal"][i] >= found["scalar"][i] for i in (at, end)),
        table=Table(["positions", *(f"{n} tokens" for n in LENGTHS)], rows),
        charts=[Lines(f"tokens copied rightly; training has up to {LONGEST}", "tokens", "share",
                      [(kind, LENGTHS, shares) for kind, shares in found.items()])],
    )  # fmt: skip


DEPTHS = (1, 4, 8)
VARIANTS: dict[str, tuple[bool, Norm]] = {
    "residual and norm": (True, "post"), "residual alone": (True, "none"), "norm alone": (False, "post"),
    "neither": (False, "none"),
}  # fmt: skip
LENGTH, TOKENS = 6, 8


class Stack(nn.Module):
    """Encoder layers that tell at each place the token that stands there: has it come through?"""

    def __init__(self, depth: int, *, residual: bool, norm: Norm) -> None:
        super().__init__()
        sizes = BlockSizes(d_model=32, d_ff=64, heads=4, d_k=None, d_v=None, dropout=0.0, attention_dropout=0.0,
                           activation="relu", norm=norm, residual=residual)  # fmt: skip
        self.embedding, self.positions = Embedding(TOKENS, 32), SinusoidalPositions(32)
        self.layers = nn.ModuleList(EncoderLayer(sizes, f"encoder.{i}") for i in range(depth))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.positions(self.embedding(ids))
        for layer in self.layers:
            x = layer(x, None)
        return x @ self.embedding.weight.T

    def loss(self) -> Tensor:
        ids = torch.randint(TOKENS, (64, LENGTH))
        return F.cross_entropy(self(ids).flatten(0, 1), ids.flatten())


def depth(updates: int = 80) -> Demonstration:
    found: dict[str, list[float]] = {}
    for name, (residual, norm) in VARIANTS.items():
        found[name] = []
        for layers in DEPTHS:
            with seeded():
                model = Stack(layers, residual=residual, norm=norm)
                # A loss that is no number has gone wrong; it counts as nothing learned.
                value = learn(model, model.loss, updates=updates, rate=3e-3, warmup=updates // 2)
                found[name].append(value if math.isfinite(value) else math.inf)
    guessing = math.log(TOKENS)
    shallow = all(losses[0] < LEARNED * guessing for losses in found.values())
    deep = {name: losses[-1] < LEARNED * guessing for name, losses in found.items()}
    rows = [[name, *(f"{value:.3f}" for value in losses)] for name, losses in found.items()]
    return Demonstration(
        title="Residuals and norm, by depth",
        section="2.7",
        says="Whatever a sub-layer does, the residual carries its input on: in deep stacks that is what makes training "
        "stable. The norm keeps the numbers near mean 0 and variance 1.",
        rule=f"at {DEPTHS[0]} layer all fall below {LEARNED:.0%} of the loss of guessing; at {DEPTHS[-1]} layers the "
        "one with both does, and those without residuals or without norm do not",
        measured=f"After {updates} updates of telling the token that went in, where guessing is {guessing:.2f} nats, "
        f"{DEPTHS[-1]} layers: "
        + ", ".join(f"{name} {losses[-1]:.2f}" for name, losses in found.items()) + f"; {DEPTHS[0]} layer: "
        + ", ".join(f"{name} {losses[0]:.2f}" for name, losses in found.items()) + ".",
        holds=shallow and [name for name, learned in deep.items() if learned] == ["residual and norm"],
        table=Table(["loss in nats", *(f"{n} layers" for n in DEPTHS)], rows),
        charts=[Lines("loss by depth", "layers", "nats", [(n, DEPTHS, v) for n, v in found.items()], log=True)],
    )  # fmt: skip
