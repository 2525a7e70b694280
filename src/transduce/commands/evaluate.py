"""`transduce evaluate`: scores of a run on a test set."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from transduce.commands.loading import load_translator
from transduce.errors import ConfigError, DataError
from transduce.evaluation.scores import score
from transduce.run_folder import write_text
from transduce.text.lines import read_lines


def run_evaluate(
    source: Path,
    references: Sequence[Path],
    runs: Sequence[Path],
    options: dict[str, Any],
    *,
    output: Path | None,
    jsonl: bool,
    weights: str,
    device: str,
    threads: int,
) -> None:
    sources = list(read_lines(source))
    targets = [list(read_lines(path)) for path in references]
    for path, lines in zip(references, targets, strict=True):
        if len(lines) != len(sources):
            raise DataError(f"{source} and {path} differ in their number of lines: {len(sources)} vs {len(lines)}")
    if not sources:
        raise DataError("the test has no lines", path=source)
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise ConfigError(f"--output {output}: expected a file in a folder that is there")
    translator = load_translator(runs, weights, device, threads)
    translator.decoding(**options)
    outputs: list[str] = []
    for start in range(0, len(sources), 256):
        chunk = sources[start : start + 256]
        outputs += [translation.text for translation in translator.translate(chunk, first=start, **options)]
        if sys.stderr.isatty():
            typer.echo(
                f"\r{len(outputs)} of {len(sources)} lines translated", err=True, nl=len(outputs) == len(sources)
            )
    if output is not None:
        write_text(output, "".join(f"{line}\n" for line in outputs))
    scores = score(outputs, targets, language=translator.experiment.target_language)
    decoding = translator.decoding(**options)
    if jsonl:
        row = {"test": str(source), "scores": [asdict(s) for s in scores], "decoding": decoding.model_dump()}
        typer.echo(json.dumps(row, ensure_ascii=False))
        return
    for result in scores:
        typer.echo(str(result))
    typer.echo(f"{len(outputs)} lines, beam {decoding.beam}, length penalty {decoding.length_penalty} "
               f"({decoding.length_penalty_form})")  # fmt: skip
