"""`transduce translate`: texts, a file or standard input, line for line."""

from __future__ import annotations

import contextlib
import json
import queue
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from transduce.commands.loading import load_translator
from transduce.errors import ConfigError
from transduce.text.lines import Line, iterate_lines, open_binary, repair
from transduce.translator import Translation, Translator


@dataclass(frozen=True, slots=True)
class Output:
    """Where translations go and how they look."""

    path: Path | None
    nbest: bool
    scores: bool
    jsonl: bool

    def render(self, number: int, translation: Translation) -> str:
        """What is written for one input line, without its ending."""
        if self.jsonl:
            return json.dumps({"line": number, **asdict(translation), "text": translation.text,
                               "score": translation.score}, ensure_ascii=False)  # fmt: skip
        if self.nbest:
            ranked = enumerate(translation.alternatives, start=1)
            return "\n".join(f"{number}\t{rank}\t{a.score:.4f}\t{a.text}" for rank, a in ranked)
        return f"{translation.score:.4f}\t{translation.text}" if self.scores else translation.text

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Standard output, or a file that appears whole when all is done."""
        if self.path is None:
            yield sys.stdout.buffer
            return
        aside = self.path.with_name(f".{self.path.name}.part")
        try:
            with aside.open("wb") as file:
                yield file
            aside.replace(self.path)
        except OSError as error:
            raise ConfigError(f"--output {self.path}: cannot be written ({error.strerror})") from None
        finally:
            aside.unlink(missing_ok=True)


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
) -> None:
    if texts and file is not None:
        raise ConfigError("give texts or --file, not both")
    if batch < 1:
        raise ConfigError(f"--batch {batch}: expected at least 1")
    with contextlib.ExitStack() as stack:
        if texts:
            chunks: Iterable[list[Line]] = _chunks((_argument(t, n) for n, t in enumerate(texts, start=1)), batch)
        elif file is not None:
            chunks = _chunks(iterate_lines(stack.enter_context(open_binary(file))), batch)
        else:
            chunks = _as_they_come(iterate_lines(sys.stdin.buffer), batch)
        translator = load_translator(runs, weights, device, threads)
        translator.decoding(**options)
        out = stack.enter_context(output.open())
        forced = None if prefix is None else repair(_typed(prefix))[0]
        _translate_all(translator, chunks, out, output, forced, options)


def _translate_all(
    translator: Translator,
    chunks: Iterable[list[Line]],
    out: BinaryIO,
    output: Output,
    prefix: str | None,
    options: dict[str, Any],
) -> None:
    broken: list[int] = []
    truncated = 0
    for lines in chunks:
        contents = []
        for line in lines:
            content, repaired = repair(line.content)
            contents.append(content)
            if repaired:
                broken.append(line.number)
        if translator.unknown_share(contents) > 0.5:
            print(f"transduce: from line {lines[0].number}: over half of the pieces are unknown to this run; "
                  "is the text in its source language?", file=sys.stderr)  # fmt: skip
        done = translator.translate(
            contents,
            first=lines[0].number - 1,
            prefixes=None if prefix is None else [prefix] * len(contents),
            alignment=output.jsonl,
            **options,
        )
        for line, translation in zip(lines, done, strict=True):
            truncated += translation.truncated
            ending = b"\n" if output.jsonl or output.nbest else line.ending
            out.write(output.render(line.number, translation).encode() + ending)
        out.flush()
    if broken:
        print(f"transduce: {len(broken)} lines were not UTF-8 (first: {broken[0]}); their bytes became U+FFFD",
              file=sys.stderr)  # fmt: skip
    if truncated:
        print(f"transduce: {truncated} translations were cut at their greatest length (--max-extra)", file=sys.stderr)


def _argument(text: str, number: int) -> Line:
    return Line(_typed(text), b"\n", number)


def _typed(text: str) -> bytes:
    """An argument in UTF-8; in the C locale Python hands each byte beyond ASCII over as a lone surrogate."""
    return text.encode("utf-8", "surrogateescape")


def _chunks(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    chunk: list[Line] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _as_they_come(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    """What has arrived so far, at most `size` lines: a line typed at a terminal is answered at once."""
    arrived: queue.Queue[Line | Exception | None] = queue.Queue(maxsize=4 * size)

    def read() -> None:
        try:
            for line in lines:
                arrived.put(line)
            arrived.put(None)
        except Exception as error:  # whatever it is, the main thread must not wait for ever
            arrived.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        item = arrived.get()
        chunk = []
        while isinstance(item, Line):
            chunk.append(item)
            if len(chunk) == size or arrived.empty():
                break
            item = arrived.get()
        if chunk:
            yield chunk
        if isinstance(item, Exception):
            raise item
        if item is None:
            return
