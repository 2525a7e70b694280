"""Processes of one thread each that translate the chunks of a long text.

On two cores two processes of one thread do more than one of two threads: a step of decoding is many small operations,
which threads cannot share. A worker is this module run as a program: it reads one JSON object a line, a `Job` and then
chunks, and writes one for each, so nothing but text passes between the processes.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Self

from transduce.acceleration.allocator import keep_freed_memory
from transduce.devices import ComputeConfig
from transduce.errors import InputError, TransduceError
from transduce.signals import interrupts_are_ours
from transduce.text.lines import Line, repair
from transduce.translator import Translation, Translator


@dataclass(frozen=True, slots=True)
class Job:
    """What is done with each chunk, in terms that JSON has."""

    runs: list[str]
    weights: str
    quantize: str
    options: dict[str, Any]
    prefix: str | None
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

    def translate(self, translator: Translator, contents: list[str], first: int) -> Answer:
        """Contents of lines, of which the first has the number `first`."""
        done = translator.translate(
            contents,
            first=first - 1,
            prefixes=None if self.prefix is None else [self.prefix] * len(contents),
            alignment=self.jsonl,
            **self.options,
        )
        return Answer(
            [self.render(number, translation) for number, translation in enumerate(done, start=first)],
            sum(translation.truncated for translation in done),
            sum(translation.repetitive for translation in done),
            translator.unknown_share(contents) > 0.5,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a chunk."""

    rendered: list[str]
    truncated: int
    repetitive: int
    foreign: bool
    """Whether over half of the pieces are unknown."""


def contents_of(lines: list[Line]) -> list[str]:
    return [repair(line.content)[0] for line in lines]


class Workers:
    """A number of processes that share one job. Use it as a context: they end with it, whatever ends it."""

    def __init__(self, count: int, job: Job) -> None:
        self._count = count
        self._idle: queue.Queue[subprocess.Popen[str]] = queue.Queue()
        self.processes = []
        with interrupts_are_ours():  # With its job each of them ends by itself, once nobody asks for more.
            for _ in range(count):
                process = subprocess.Popen(
                    [sys.executable, "-m", __spec__.name],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
                )  # fmt: skip
                self.processes.append(process)
                _write(process, asdict(job))
                self._idle.put(process)
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self.processes:
            process.communicate()

    def map(self, chunks: Iterable[list[Line]]) -> Iterator[tuple[list[Line], Answer]]:
        """Each chunk with its answer, in their order. Few chunks are read ahead, so the text may be endless."""
        ahead: deque[tuple[list[Line], Future[Answer]]] = deque()
        for chunk in chunks:
            ahead.append((chunk, self._threads.submit(self._ask, chunk)))
            if len(ahead) > 2 * self._count:
                lines, answer = ahead.popleft()
                yield lines, answer.result()
        for lines, answer in ahead:
            yield lines, answer.result()

    def _ask(self, lines: list[Line]) -> Answer:
        process = self._idle.get()
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            _write(process, {"contents": contents_of(lines), "first": lines[0].number})
        reply = process.stdout.readline()
        # Whoever waits for it next shall see that it has ended, too.
        self._idle.put(process)
        if not reply:
            raise TransduceError(
                f"a worker process ended at line {lines[0].number} (exit code {process.wait()}): if memory ran out, "
                "ask for fewer --workers or a smaller --batch"
            )
        answer = json.loads(reply)
        if "error" in answer:
            raise (InputError if answer["wrong_input"] else TransduceError)(answer["error"])
        return Answer(**answer)


def _write(process: subprocess.Popen[str], value: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(value) + "\n")
    process.stdin.flush()


def main() -> None:
    """A worker."""
    keep_freed_memory()
    job = Job(**json.loads(sys.stdin.readline()))
    compute = ComputeConfig(device="cpu", threads=1)
    translator = Translator.load(*job.runs, weights=job.weights, compute=compute, quantize=job.quantize)  # type: ignore[arg-type]
    for request in sys.stdin:
        try:
            answer: dict[str, Any] = asdict(job.translate(translator, **json.loads(request)))
        except TransduceError as error:
            answer = {"error": str(error), "wrong_input": isinstance(error, InputError)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
