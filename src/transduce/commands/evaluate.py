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
from transduce.evaluation.scores import ScoringConfig, exact_match, looks_tokenised, score
from transduce.evaluation.significance import compare
from transduce.run_folder import write_text
from transduce.text.lines import read_lines
from transduce.translator import Translator

CHUNK = 256
"""Lines translated between signs of life."""


def run_evaluate(
    source: Path,
    references: Sequence[Path],
    runs: Sequence[Path],
    options: dict[str, Any],
    *,
    against: Path | None,
    scoring: ScoringConfig | None,
    strict: bool,
    output: Path | None,
    jsonl: bool,
    weights: str,
    device: str,
    threads: int,
) -> None:
    sources = list(read_lines(source))
    if not sources:
        raise DataError("the test has no lines", path=source)
    targets = [_aligned(path, source, len(sources)) for path in references]
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise ConfigError(f"--output {output}: expected a file in a folder that is there")
    baseline = None if against is None or against.is_dir() else _aligned(against, source, len(sources))
    translator = load_translator(runs, weights, device, threads)
    decoding = translator.decoding(**options)
    scoring = scoring or translator.experiment.scoring
    targets = [[translator.tokenizers.target.plain(text) for text in lines] for lines in targets]
    if not scoring.tokenized and looks_tokenised(targets[0]):
        message = f"{references[0]} looks tokenised: BLEU of such text is too high, unless --tokenized says what it is"
        if strict:
            raise DataError(message)
        typer.echo(f"transduce: {message}", err=True)
    outputs = _translate(translator, sources, options)
    if output is not None:
        write_text(output, "".join(f"{line}\n" for line in outputs))
    language = translator.experiment.target_language
    scores = [*score(outputs, targets, language=language, scoring=scoring), exact_match(outputs, targets)]
    if against is not None and baseline is None:
        baseline = _translate(load_translator([against], weights, device, threads), sources, options)
    comparisons = [] if baseline is None else compare(outputs, baseline, targets, language=language, scoring=scoring)
    if jsonl:
        row = {"test": str(source), "scores": [asdict(s) for s in scores], "decoding": decoding.model_dump(),
               "against": None if against is None else str(against),
               "comparisons": [asdict(c) for c in comparisons]}  # fmt: skip
        typer.echo(json.dumps(row, ensure_ascii=False))
        return
    for result in (*scores, *comparisons):
        typer.echo(str(result))
    typer.echo(f"{len(outputs)} lines, beam {decoding.beam}, length penalty {decoding.length_penalty} "
               f"({decoding.length_penalty_form})")  # fmt: skip


def _aligned(path: Path, source: Path, count: int) -> list[str]:
    """The lines of a file that has one for each line of the source. Checked before anything is translated."""
    lines = list(read_lines(path))
    if len(lines) != count:
        raise DataError(f"{source} and {path} differ in their number of lines: {count} vs {len(lines)}")
    return lines


def _translate(translator: Translator, sources: Sequence[str], options: dict[str, Any]) -> list[str]:
    outputs: list[str] = []
    for start in range(0, len(sources), CHUNK):
        chunk = sources[start : start + CHUNK]
        outputs += [translation.text for translation in translator.translate(chunk, first=start, **options)]
        if sys.stderr.isatty():
            last = len(outputs) == len(sources)
            typer.echo(f"\r{len(outputs)} of {len(sources)} lines translated", err=True, nl=last)
    return outputs
