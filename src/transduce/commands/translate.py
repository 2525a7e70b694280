"""`transduce translate`: texts, a file or standard input, line for line."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from transduce.acceleration.allocator import keep_freed_memory
from transduce.commands.lines import appearing_whole, asked_lines, typed
from transduce.commands.loading import load_translator
from transduce.commands.telling import tell
from transduce.commands.workers import Answer, Job, Workers, contents_of
from transduce.demo.shipped import RUN
from transduce.devices import Compute
from transduce.errors import ConfigError
from transduce.text.lines import Line, repair
from transduce.translator import Translator

LONG = 8
"""Chunks from which on a file is long enough for several processes to earn the seconds that they take to start."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where translations go and how they look."""

    path: Path | None
    nbest: bool
    scores: bool
    jsonl: bool

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Standard output, or a file that appears whole when all is done."""
        if self.path is None:
            yield sys.stdout.buffer
            return
        with appearing_whole(self.path) as file:
            yield file


def run_translate(
    texts: Sequence[str],
    file: Path | None,
    output: Output,
    *,
    runs: Sequence[Path],
    options: dict[str, Any],
    prefix: str | None,
    batch: int,
    weights: str,
    device: str,
    threads: int,
    quantize: str,
    workers: int,
) -> None:
    keep_freed_memory()
    with asked_lines(texts, file, batch) as chunks, contextlib.ExitStack() as stack:
        translator = load_translator(runs, weights, device, threads, quantize, announce=file is not None)
        translator.decoding(**options)
        job = Job(
            [str(run) for run in runs or [RUN]], weights, quantize, options,
            None if prefix is None else repair(typed(prefix))[0], output.nbest, output.scores, output.jsonl,
        )  # fmt: skip
        chunks, count = _count(chunks, workers, translator.compute, threads, file)
        out = stack.enter_context(output.open())
        if count > 1:
            done = stack.enter_context(Workers(count, job)).map(chunks)
        else:
            done = ((lines, job.translate(translator, contents_of(lines), lines[0].number)) for lines in chunks)
        _write_all(done, out, output, translator)


def _count(
    chunks: Iterable[list[Line]], workers: int, compute: Compute, threads: int, file: Path | None
) -> tuple[Iterable[list[Line]], int]:
    """The chunks again, and how many processes translate them: asked for, or chosen for a long file on a CPU."""
    if workers < 0:
        raise ConfigError(f"--workers {workers}: expected 0 (chosen by the text's length) or more")
    if compute.device.type != "cpu":
        return chunks, 1
    if workers or threads or file is None:
        return chunks, workers or 1
    chunks = iter(chunks)
    begun = list(itertools.islice(chunks, LONG))
    return itertools.chain(begun, chunks), compute.threads if len(begun) == LONG else 1


def _write_all(
    done: Iterable[tuple[list[Line], Answer]], out: BinaryIO, output: Output, translator: Translator
) -> None:
    broken: list[int] = []
    truncated = repetitive = 0
    for lines, answer in done:
        broken += [line.number for line in lines if repair(line.content)[1]]
        if answer.foreign:
            place = f"from line {lines[0].number}"
            tell(f"{place}: over half of the pieces are unknown to this run; is the text in its source language?")
        truncated += answer.truncated
        repetitive += answer.repetitive
        for line, text in zip(lines, answer.rendered, strict=True):
            out.write(text.encode() + (b"\n" if output.jsonl or output.nbest else line.ending))
        out.flush()
    if broken:
        tell(f"{len(broken)} lines were not UTF-8 (first: {broken[0]}); their bytes became U+FFFD")
    if truncated:
        tell(f"{truncated} translations were cut at their greatest length (--max-extra)")
    if repetitive:
        advice = " (--no-repeat-ngram 4 keeps a model from it)" if "no_repeat_ngram" in translator.task.decoding else ""
        tell(f"{repetitive} translations say the same phrase again and again{advice}")
