"""One word, one embedding, many meanings; and where training puts words (article 1.2, 2.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from transduce.comparison.demonstrations.demonstration import Demonstration, Lines, Map
from transduce.comparison.document import Table
from transduce.demo.shipped import RUN
from transduce.devices import ComputeConfig
from transduce.inspection.layerwise import similarities
from transduce.inspection.recorder import record
from transduce.models.contract import Model
from transduce.recipe import build_model
from transduce.text.specials import RESERVED
from transduce.text.tokenizer import Tokenizer
from transduce.translator import Translator

WORD = "水"
COURSE, OTHER_SENSE, SAME_SENSE = "我爱水课", "这西瓜水真多", "小红喜欢水课"
MOVED = 0.9
"""A cosine below which a word's two vectors are said to be two."""
GROUPS = {"water": ("水", "河流", "瀑布"), "campus": ("大学生", "论文", "作业")}
"""The article's: each ought to be together, and apart from the other."""
ROUNDING = 1e-9
NEAREST = 5
"""Neighbours that are named."""


def shipped() -> Translator:
    """The demo's run, on one thread: sentences are short."""
    return Translator.load(RUN, compute=ComputeConfig(device="cpu", threads=1))


def two_waters(translator: Translator) -> Demonstration:
    course, other, same = (record(translator, text) for text in (COURSE, OTHER_SENSE, SAME_SENSE))
    apart, together = similarities(course, other, WORD), similarities(course, same, WORD)
    places = [found.place.removeprefix("encoder.") for found in apart]
    embedded, last = apart[0].cosine, apart[-1].cosine
    rows = [[place, f"{a.cosine:.3f}", f"{b.cosine:.3f}"]
            for place, a, b in zip(places, apart, together, strict=True)]  # fmt: skip
    stages = list(range(len(places)))
    return Demonstration(
        title="One 水, two contexts",
        section="2.5.1",
        says=f"水 has one vector in the table whatever the sentence; self-attention moves it by the other words, so "
        f"that the 水 of {OTHER_SENSE} and that of {COURSE} are no longer one.",
        rule=f"the embeddings are the same, and the encoder's vectors have a cosine below {MOVED:g} and below that of "
        "two 水 of one sense",
        measured=f"Between {COURSE} and {OTHER_SENSE} the cosine of the two 水 is {embedded:.3f} as embedded and "
        f"{last:.3f} after the encoder; between {COURSE} and {SAME_SENSE} it is {together[-1].cosine:.3f} there.",
        holds=abs(embedded - 1) < 1e-5 and last < MOVED and last < together[-1].cosine,
        table=Table(["after", f"{COURSE}, {OTHER_SENSE}", f"{COURSE}, {SAME_SENSE}"], rows),
        charts=[
            Lines(f"cosine of {WORD} in two sentences, layer by layer", "", "cosine",
                  [(OTHER_SENSE, stages, [a.cosine for a in apart]),
                   (SAME_SENSE, stages, [b.cosine for b in together])], ticks=places)
        ],
    )  # fmt: skip


def word_vectors(model: Model, tokenizer: Tokenizer, words: Sequence[str]) -> np.ndarray:
    """A word's embedding, the mean of its tokens' where it is several, at length 1 [words d]."""
    rows = []
    with torch.no_grad():
        for ids in tokenizer.encode_batch(list(words)):
            vector: Tensor = model.source_embedding(torch.tensor([ids]))[0].mean(0)  # type: ignore[operator]
            rows.append((vector / vector.norm()).numpy())
    return np.stack(rows)


def cohesion(vectors: np.ndarray, group: Sequence[int]) -> tuple[float, float]:
    """Mean cosine of two words that are both in a group or both outside it, and of two words of which one is."""
    within: list[float] = []
    between: list[float] = []
    for i, j in combinations(range(len(vectors)), 2):
        (within if (i in group) == (j in group) else between).append(float(vectors[i] @ vectors[j]))
    return float(np.mean(within)), float(np.mean(between))


def rank(vectors: np.ndarray) -> int:
    """Of the ten ways to part six words into two threes, how many hold together no less than the first three and the
    last three do: 1 if none does but that one itself."""
    gaps = [
        within - between for within, between in (cohesion(vectors, (0, i, j)) for i, j in combinations(range(1, 6), 2))
    ]
    return sum(gap >= gaps[0] - ROUNDING for gap in gaps)


def plane(vectors: np.ndarray) -> np.ndarray:
    """The two directions in which they differ most [words 2] (principal components)."""
    centred = vectors - vectors.mean(0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T


def map_of_words(translator: Translator) -> Demonstration:
    trained, tokenizer = translator.models[0], translator.tokenizers.source
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(translator.experiment.training.seed)
        fresh = build_model(translator.experiment, translator.tokenizers)
    words = [word for group in GROUPS.values() for word in group]
    groups = [name for name, group in GROUPS.items() for _ in group]
    before, after = (word_vectors(model, tokenizer, words) for model in (fresh, trained))
    apart = {"before training": cohesion(before, (0, 1, 2)), "after": cohesion(after, (0, 1, 2))}
    ranks = [rank(before), rank(after)]
    said = [f"{when}: {within:.3f} within the groups, {between:.3f} between them, place {place} of the ten"
            for (when, (within, between)), place in zip(apart.items(), ranks, strict=True)]  # fmt: skip
    around = [neighbours(model, tokenizer, words) for model in (fresh, trained)]
    rows = [[word, *(", ".join(f"{name} {cosine:.2f}" for name, cosine in found[i]) for found in around)]
            for i, word in enumerate(words)]  # fmt: skip
    return Demonstration(
        title="The map of words, before and after training",
        section="1.2",
        says="水, 河流 and 瀑布 come together on the map, 大学生, 论文 and 作业 in another place: nobody puts them "
        "there, training does.",
        rule="after training, of the ten ways to part the six words into two threes, this one has the largest "
        "difference between the mean cosine within the threes and between them; a word of several characters has the "
        "mean of their vectors",
        measured="; ".join(said) + ".",
        holds=ranks[1] == 1,
        table=Table(["", f"{NEAREST} nearest of {tokenizer.size - RESERVED:,} pieces before training", "after"], rows,
                    numbers=False),
        charts=[Map(when, [(g, w, float(x), float(y)) for g, w, (x, y) in zip(groups, words, plane(v), strict=True)])
                for when, v in (("before training", before), ("after training", after))],
    )  # fmt: skip


def neighbours(model: Model, tokenizer: Tokenizer, words: Sequence[str]) -> list[list[tuple[str, float]]]:
    """For each word, the pieces of the whole vocabulary whose embeddings have the largest cosine with its vector, and
    that cosine; pieces of the word itself and control ids are left out."""
    table: Tensor = model.source_embedding.weight  # type: ignore[union-attr, assignment]
    pieces = (table / table.norm(dim=1, keepdim=True)).detach().numpy()
    found = []
    for own, vector in zip(tokenizer.encode_batch(list(words)), word_vectors(model, tokenizer, words), strict=True):
        cosines = pieces @ vector
        cosines[[*range(RESERVED), *own]] = -np.inf
        order = np.argsort(-cosines, kind="stable")[:NEAREST]
        found.append([(tokenizer.piece_name(int(id)).strip(), float(cosines[id])) for id in order])
    return found
