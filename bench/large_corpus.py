"""Make a corpus of millions of distinct pairs out of smaller ones, to measure memory and time on.

    .venv/bin/python bench/large_corpus.py OUT --valid valid.tsv.gz train.tsv.gz train.zh.gz,train.en.gz …

Writes gzipped shards of aligned text and the experiment OUT/large.toml. The first copy of each text is as it
was; in later ones characters are exchanged for others of the same text, so that no pair comes twice and the
number of distinct words keeps growing, as it does in real text. The same call writes the same files.
"""

from __future__ import annotations

import argparse
import gzip
import random
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import BinaryIO, cast

from transduce.data.corpus import CorpusConfig, RawPair, read_pairs
from transduce.data.filters import FingerprintSet, fingerprint

EXCHANGED = {"wide": 15, "narrow": 100}
"""One character in so many is exchanged, in scripts whose characters are syllables or words, and in others. In a
hundred letters are about twenty words: the distinct ones then grow as in news text, to a few million."""
WEIGHTS = (1.0, 0.5, 2.0)
"""Of the corpora, in turn."""
EXPERIMENT = """\
name = "large"
preset = "small"

[data]
train = [
{train}]
valid = {{ tsv = "{valid}" }}

[training]
max_updates = 4
validate_every = 2
save_every = 2

[validation]
sentences = 0
"""


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder to write to, about 0.1 GB a million pairs")
    parser.add_argument("train", nargs="+", help="TSV file, or two aligned files with a comma between; plain or .gz")
    parser.add_argument("--valid", type=Path, required=True, help="TSV file of the experiment's held-out text")
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--shards", type=int, default=3, help="files that each text is spread over, on either side")
    given = parser.parse_args(words)
    given.out.mkdir(parents=True, exist_ok=True)
    texts = [list(read_pairs(corpus(files))) for files in given.train]
    share = given.pairs / sum(len(pairs) for pairs in texts)
    seen = FingerprintSet()
    rng = random.Random(1)
    lines = []
    left = given.pairs
    for number, pairs in enumerate(texts):
        count = left if pairs is texts[-1] else round(share * len(pairs))
        left -= count
        names = [f"text-{number}-{shard}" for shard in range(given.shards)]
        weight = WEIGHTS[number % len(WEIGHTS)]
        for name in names:
            lines.append(f'  {{ source = "{name}.source.gz", target = "{name}.target.gz", weight = {weight} }},\n')
        write(given.out, names, distinct(pairs, count, seen, rng), count)
        print(f"{given.train[number]}: {len(pairs):,} pairs became {count:,}", flush=True)
    text = EXPERIMENT.format(train="".join(lines), valid=given.valid.resolve())
    (given.out / "large.toml").write_text(text, encoding="utf-8")


def corpus(files: str) -> CorpusConfig:
    first, *second = map(Path, files.split(","))
    return CorpusConfig(source=first, target=second[0]) if second else CorpusConfig(tsv=first)


def distinct(pairs: list[RawPair], count: int, seen: FingerprintSet, rng: random.Random) -> Iterator[RawPair]:
    """`count` pairs, none of them in `seen`: the text as it is, then copies of it with characters exchanged."""
    pools = [[c for pair in pairs for c in pair[:2][side] if c.isalpha()] for side in (0, 1)]
    wide, narrow = ([[c for c in pool if (c > "\u2e7f") == wide] or pool for pool in pools] for wide in (True, False))
    for made, pair in enumerate(cycle(pairs)):
        if made == count:
            return
        source, target = pair.source, pair.target
        if made >= len(pairs):
            source, target = exchange(source, wide[0], narrow[0], rng), exchange(target, wide[1], narrow[1], rng)
        while not seen.add(fingerprint(RawPair(source, target, 0))):
            source, target = exchange(source, wide[0], narrow[0], rng), exchange(target, wide[1], narrow[1], rng)
        yield RawPair(source, target, made + 1)


def exchange(text: str, wide: list[str], narrow: list[str], rng: random.Random) -> str:
    """The text with about one letter in `EXCHANGED`, and at least one, drawn anew from those of its script."""
    is_wide = text[len(text) // 2] > "\u2e7f"
    times = 1 + int(rng.expovariate(EXCHANGED["wide" if is_wide else "narrow"] / len(text)))
    for _ in range(times):
        at = int(rng.random() * len(text))
        if text[at].isalpha():
            pool = wide if text[at] > "\u2e7f" else narrow
            text = text[:at] + pool[int(rng.random() * len(pool))] + text[at + 1 :]
    return text


def write(out: Path, names: list[str], pairs: Iterator[RawPair], count: int) -> None:
    """Spread the pairs over the shards, one after the other."""
    size = -(-count // len(names))
    for name in names:
        with ExitStack() as stack:
            # No time and no name in the archive: the same text gives the same bytes.
            sides = [
                cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 1, stack.enter_context(path.open("wb")), 0)))
                for path in (out / f"{name}.source.gz", out / f"{name}.target.gz")
            ]
            for _, pair in zip(range(size), pairs, strict=False):
                for side, text in zip(sides, pair[:2], strict=True):
                    side.write(text.encode() + b"\n")


if __name__ == "__main__":
    main()
