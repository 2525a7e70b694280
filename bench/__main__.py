"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import large_corpus
from bench.environments import FOLDER, HERE
from bench.report import Report
from transduce.acceleration.threads import wait_passively

PARTS = {
    "training": "target tokens/s and memory against other tools, on the same passes",
    "translation": "sentences/s, latency and memory against other engines, with the same weights",
    "scaling": "ours against length, batch, beam, vocabulary, threads and processes",
    "parts": "ours with each of its fast paths switched off, and all on",
    "score": "BLEU against wall time, ours and Joey NMT, from raw text through each tool's own loop",
    "preparation": "time and memory of preparing a corpus",
    "gpu": "training and translation on a GPU, in under 8 minutes (on a CPU where there is none)",
}


def main(words: list[str] | None = None) -> None:
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["corpus"]:
        large_corpus.main(words[1:])
        return
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="How fast ours is, and others beside it.",
        epilog="`python -m bench corpus --help`: millions of pairs out of fewer, for `preparation`.",
    )  # fmt: skip
    parts = parser.add_subparsers(dest="part", required=True)
    measures: dict[str, Callable[[argparse.Namespace, Path, Report], None]] = {}
    for name, text in PARTS.items():
        module: Any = import_module(f"bench.{name}")
        sub = parts.add_parser(name, help=text, description=module.__doc__, argument_default=None)
        _shared(sub)
        module.arguments(sub)
        measures[name] = module.measure
    given = parser.parse_args(words)
    wait_passively()
    if given.threads == 0:
        from transduce.devices import usable_cores

        given.threads = usable_cores()
    if given.data is None and DATA.is_dir():
        given.data = DATA
    settings = {key: value for key, value in vars(given).items() if value not in (None, False, [], "", math.inf)}
    report = Report("-".join(filter(None, (given.part, getattr(given, "model", "")))), settings)
    with tempfile.TemporaryDirectory(prefix="transduce-bench-") as folder:
        measures[given.part](given, Path(folder), report)
    report.write(given.out)


DATA = HERE.parent.parent / "shared" / "data" / "multi30k-bpe" / "en-de"
"""The optional data beside the checkout."""


def _shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, help="folder with train.XX.gz in pieces, as in multi30k-bpe/en-de; "
                        "made up where there is none")  # fmt: skip
    parser.add_argument("--pairs", type=int, default=29_000, help="pairs of it that are read, or made up")
    parser.add_argument("--threads", type=int, default=0, help="for everyone; 0 = all cores")
    parser.add_argument("--avx2", action="store_true", help="hold everyone to AVX2 on a processor that has more")
    parser.add_argument("--before", type=Path, help="src folder of another version of this repository, to compare with")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder for the results")
    parser.add_argument("--cache", type=Path, default=FOLDER, help="folder for the peers' environments")
    parser.add_argument("--pip-options", type=str.split, default=[], help="more words for pip, in one argument")
    parser.add_argument("--here", action="store_true", help="install nothing: use this Python for the peers it has")
    parser.set_defaults(device="cpu", precision="fp32", deadline=math.inf)


if __name__ == "__main__":
    main()
