"""`transduce generate`: what a language model makes of the beginnings of texts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transduce.commands.lines import asked_lines
from transduce.commands.loading import load_translator
from transduce.commands.telling import tell
from transduce.text.lines import repair
from transduce.translator import generate


def run_generate(
    prompts: Sequence[str],
    file: Path | None,
    *,
    runs: Sequence[Path],
    options: dict[str, Any],
    jsonl: bool,
    weights: str,
    device: str,
    threads: int,
) -> None:
    with asked_lines(prompts if prompts or file else [""], file, 1) as chunks:
        translator = load_translator(runs, weights, device, threads)
        cut = 0
        for (line,) in chunks:
            prompt = repair(line.content)[0]
            hear = None if jsonl else _write
            found = generate(translator, prompt, number=line.number - 1, hear=hear, **options)
            cut += not found.finished
            _write(json.dumps({"line": line.number, **asdict(found)}, ensure_ascii=False) + "\n" if jsonl else "\n")
    if cut:
        tell(f"{cut} texts were cut at their greatest length (--max-tokens)")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
