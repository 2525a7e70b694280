"""Compatibility normalisation (Unicode NFKC), and what it changed where.

NFKC folds `①` to `1`, `ﬁ` to `fi`, a full-width `２` to `2` and `…` to three full stops. What it folds
cannot be told apart afterwards, so it is off unless asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from unicodedata import combining, is_normalized, normalize

LONGEST_RUN = 64
"""Combining marks in a row that are put in order together. Sorting a run takes quadratic time; no
writing system comes near this length (Unicode's stream-safe format allows 30)."""


@cache
def _marks() -> frozenset[str]:
    """Characters that attach to the one before, themselves or through their decomposition."""
    # From U+20000 on there are only ideographs, tags and private use, none of which combine.
    return frozenset(c for c in map(chr, range(0x300, 0x20000)) if combining(normalize("NFKD", c)[0]))


@cache
def _long_run() -> re.Pattern[str]:
    marks = f"[{re.escape(''.join(sorted(_marks())))}]"
    return re.compile(f"{marks}{{{LONGEST_RUN}}}(?={marks})")


def _sections(text: str) -> list[str]:
    """The text, cut only inside runs of more than `LONGEST_RUN` marks."""
    if text.isascii() or len(text) <= LONGEST_RUN:
        return [text]
    cuts = [0, *(match.end() for match in _long_run().finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def nfkc(text: str) -> str:
    """The text in NFKC; a run of more than `LONGEST_RUN` combining marks is normalised in sections."""
    return "".join(normalize("NFKC", section) for section in _sections(text))


def clusters(text: str) -> Iterator[tuple[str, str]]:
    """Cut a text into the smallest parts that are normalised independently: (before, after).

    All the befores joined are the text, all the afters joined are `nfkc(text)`.
    """
    for section in _sections(text):
        if is_normalized("NFKC", section):
            yield from ((character, character) for character in section)
            continue
        before = ""
        for character in section:
            if before and _separate(before, character):
                yield before, normalize("NFKC", before)
                before = ""
            before += character
        if before:
            yield before, normalize("NFKC", before)


def _separate(before: str, character: str) -> bool:
    """Whether nothing in `before` can change, or be changed by, the character that follows it."""
    if character.isascii():
        return True
    if character in _marks():
        return False
    apart = normalize("NFKC", before) + normalize("NFKC", character)
    return normalize("NFKC", before + character) == apart
