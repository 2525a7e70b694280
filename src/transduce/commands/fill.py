"""`transduce fill`: what may stand at the blanks of texts, line for line."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from transduce.commands.lines import asked_lines
from transduce.commands.loading import load_translator
from transduce.text.lines import repair
from transduce.translator import Filled, fill


def run_fill(
    texts: Sequence[str],
    file: Path | None,
    *,
    runs: Sequence[Path],
    top_k: int,
    jsonl: bool,
    batch: int,
    weights: str,
    device: str,
    threads: int,
) -> None:
    with asked_lines(texts, file, batch) as chunks:
        translator = load_translator(runs, weights, device, threads)
        for lines in chunks:
            contents = [repair(line.content)[0] for line in lines]
            found = fill(translator, contents, top_k=top_k, first=lines[0].number - 1)
            for line, filled in zip(lines, found, strict=True):
                sys.stdout.write(render_json(line.number, filled) if jsonl else render(line.number, filled))
            sys.stdout.flush()


def render(number: int, filled: Filled) -> str:
    """A row for each token that may stand at a blank: line, blank, probability, the text with it."""
    return "".join(
        f"{number}\t{place}\t{choice.probability:.4f}\t{choice.text}\n"
        for place, choices in enumerate(filled.blanks, start=1)
        for choice in choices
    )


def render_json(number: int, filled: Filled) -> str:
    return json.dumps({"line": number, **asdict(filled)}, ensure_ascii=False) + "\n"
