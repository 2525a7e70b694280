"""`transduce evaluate`: scores of a run on a test set."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from transduce.commands.loading import load_translator
from transduce.commands.telling import tell
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
    scoring: Mapping[str, bool],
    strict: bool,
    output: Path | None,
    rows: Path | None,
    jsonl: bool,
    weights: str,
    device: str,
    threads: int,
) -> None:
    sources = list(read_lines(source))
    if not sources:
        raise DataError("the test has no lines", path=source)
    targets = [_aligned(path, source, len(sources)) for path in references]
    for name, path in (("--output", output), ("--rows", rows)):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise ConfigError(f"{name} {path}: expected a file in a folder that is there")
    baseline = None if against is None or against.is_dir() else _aligned(against, source, len(sources))
    translator = load_translator(runs, weights, device, threads, announce=True)
    if translator.task.metrics is None:
        _measure(translator, source, sources, references, jsonl)
        return
    if not references:
        raise ConfigError(f"{source}: expected the files of its references too, behind the other arguments")
    decoding = translator.decoding(**options)
    settings = translator.experiment.scoring.model_copy(update=scoring)
    targets = [[translator.tokenizers.target.plain(text) for text in lines] for lines in targets]
    for path, lines in zip(references, targets, strict=True):
        _tell_empty(path, lines)
        _tell_tokenised(str(path), lines, settings, strict)
    _tell_tokenised(str(against), baseline or (), settings, strict)
    if cost := translator.cost(sources, targets[0]):
        tell(str(cost))
    outputs = _translate(translator, sources, options)
    if output is not None:
        write_text(output, "".join(f"{line}\n" for line in outputs))
    _tell_tokenised("the output", outputs, settings, strict)
    language = translator.experiment.target_language
    metrics = translator.task.metrics
    scores = [
        *score(outputs, targets, language=language, scoring=settings, metrics=metrics),
        exact_match(outputs, targets),
    ]
    if against is not None and baseline is None:
        baseline = _translate(load_translator([against], weights, device, threads), sources, options)
    comparisons = []
    if baseline is not None and metrics:
        comparisons = compare(outputs, baseline, targets, language=language, scoring=settings)
    if rows is not None:
        write_text(rows, _side_by_side(sources, targets, outputs, baseline))
    if jsonl:
        row = {"test": str(source), "scores": [asdict(s) for s in scores],
               "decoding": decoding.model_dump(include=set(translator.task.decoding)),
               "against": None if against is None else str(against),
               "comparisons": [asdict(c) for c in comparisons]}  # fmt: skip
        typer.echo(json.dumps(row, ensure_ascii=False))
        return
    for result in (*scores, *comparisons):
        typer.echo(str(result))
    typer.echo(f"{len(outputs)} lines, {translator.task.describe(decoding)}")


def _measure(translator: Translator, test: Path, texts: Sequence[str], references: Sequence[Path], jsonl: bool) -> None:
    """Scores of a run that writes nothing that could be compared with references."""
    if references:
        raise ConfigError(
            f'{references[0]}: a run trained to "{translator.task.name}" is measured on the test alone: leave it out'
        )
    scores = translator.measure(texts)
    if jsonl:
        typer.echo(json.dumps({"test": str(test), "scores": [asdict(s) for s in scores]}, ensure_ascii=False))
        return
    for result in scores:
        typer.echo(str(result))


def _aligned(path: Path, source: Path, count: int) -> list[str]:
    """The lines of a file that has one for each line of the source. Checked before anything is translated."""
    lines = list(read_lines(path))
    if len(lines) != count:
        raise DataError(f"{source} and {path} differ in their number of lines: {count} vs {len(lines)}")
    return lines


def _tell_empty(path: Path, lines: Sequence[str]) -> None:
    empty = [number for number, line in enumerate(lines, start=1) if not line.strip()]
    if empty:
        tell(f"{path}: {len(empty)} empty lines (first: {empty[0]}) are scored as references that say nothing")


def _tell_tokenised(name: str, lines: Sequence[str], scoring: ScoringConfig, strict: bool) -> None:
    if scoring.tokenized or not looks_tokenised(lines):
        return
    message = f"{name} looks tokenised: BLEU of such text is not comparable, unless --tokenized says what it is"
    if strict:
        raise DataError(message)
    tell(message)


def _side_by_side(
    sources: Sequence[str], references: Sequence[Sequence[str]], outputs: Sequence[str], baseline: Sequence[str] | None
) -> str:
    """A JSON object a line: what was to be translated, its references, and what each system made of it."""
    columns: dict[str, Sequence[object]] = {
        "source": sources,
        "references": list(zip(*references, strict=True)),
        "output": outputs,
        **({} if baseline is None else {"against": baseline}),
    }
    table = zip(*columns.values(), strict=True)
    rows = ({"line": number, **dict(zip(columns, row, strict=True))} for number, row in enumerate(table, start=1))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _translate(translator: Translator, sources: Sequence[str], options: dict[str, Any]) -> list[str]:
    outputs: list[str] = []
    for start in range(0, len(sources), CHUNK):
        chunk = sources[start : start + CHUNK]
        outputs += [translation.text for translation in translator.translate(chunk, first=start, **options)]
        if sys.stderr.isatty():
            last = len(outputs) == len(sources)
            typer.echo(f"\r{len(outputs)} of {len(sources)} lines translated", err=True, nl=last)
    return outputs
