"""Does it tell by the words around it what 水 is? One character, and an easy course, gossip or water (article 1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from transduce.comparison.measures.words import says
from transduce.comparison.subject import Subject
from transduce.demo.corpus import Example

WORD = "水"


@dataclass(frozen=True, slots=True)
class Context:
    """How often 水 came out as it should, over all test sets."""

    sentences: int
    accuracy: float
    """Share of the sentences whose output has every phrase that translates a 水 of it."""
    by_sense: dict[str, tuple[int, int]]
    """For each sense: right, and all, the commonest first."""
    blind: float
    """Share that is right if 水 is always translated by the phrase that is right most often."""


def phrases(example: Example) -> set[str]:
    """What translates the pieces of the source that 水 is part of, in lower case."""
    return {example.target[c:d].lower() for a, b, c, d in example.alignment if WORD in example.source[a:b]}


def measure_context(subject: Subject) -> Context | None:
    """None where nothing is known about the senses in the test sets."""
    right: dict[str, list[bool]] = defaultdict(list)
    wanted: Counter[frozenset[str]] = Counter()
    for test, texts in zip(subject.tests, subject.texts, strict=True):
        for example, text in zip(test.examples, texts, strict=True):
            if example is None or not (expected := phrases(example)):
                continue
            wanted[frozenset(expected)] += 1
            senses = " + ".join(dict.fromkeys(example.senses)) or WORD
            right[senses].append(all(says(text, phrase) for phrase in expected))
    if not right:
        return None
    every = [hit for hits in right.values() for hit in hits]
    order = sorted(right, key=lambda sense: -len(right[sense]))
    return Context(
        len(every),
        sum(every) / len(every),
        {sense: (sum(right[sense]), len(right[sense])) for sense in order},
        wanted.most_common(1)[0][1] / len(every),
    )
