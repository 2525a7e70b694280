"""Contenders as processes that stay, of which one runs at a time.

Between its turns a contender is stopped, with all processes that it started, so that none of them takes a core from
the one that is measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bench.environments import HERE, OFFLINE

ROOT = HERE.parent
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "CT2_FORCE_CPU_ISA": "AVX2",
    "CC": "cc -mno-avx512f -mno-avxvnni",
}
"""Holds every library to AVX2 on a processor that has more."""
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE"}
"""What our command line sets for itself before PyTorch is loaded."""
KEEPS = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "2147483647", "MALLOC_TOP_PAD_": "67108864"}
"""glibc keeps freed memory, as ours has it do by itself."""


class EndedError(Exception):
    """A contender that could not go on, with its last words."""


@dataclass
class Worker:
    """A contender's process, the leader of a group of its own."""

    name: str
    process: subprocess.Popen[str]
    log: Path
    told: dict[str, Any] = field(default_factory=dict)
    """What it said of itself when it was ready."""
    most: float = 0.0
    """Most memory of its processes together, in MB, as far as the system tells it."""

    @classmethod
    def start(
        cls,
        name: str,
        python: Path | str,
        module: str,
        job: Mapping[str, Any],
        *,
        environment: Mapping[str, str] | None = None,
        source: Path | None = None,
    ) -> Worker:
        """Start one and wait until it is ready. `source` is the `src` folder of the version of ours that it runs."""
        paths = [str(ROOT), *([str(source)] if source else [])]
        variables = {
            **os.environ, **OFFLINE, "OMP_NUM_THREADS": str(job["threads"]), **(environment or {}),
            "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "ignore",
        }  # fmt: skip
        log = Path(job["folder"]) / "logs" / (re.sub(r"\W+", "-", name) + ".log")
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [str(python), "-m", f"bench.peers.{module}"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8",
                env=variables, cwd=job["folder"], start_new_session=True,
            )  # fmt: skip
        worker = cls(name, process, log)
        try:
            worker.told = worker._exchange(dict(job))
        except BaseException:
            worker.close()
            raise
        return worker

    @classmethod
    def tuned(cls, name: str, python: Path | str, module: str, job: Mapping[str, Any], **options: Any) -> Worker:
        """Have one find its fastest setting, then start one that has used no other: memory is then that setting's."""
        first = cls.start(name, python, module, job, **options)
        first.close()
        return cls.start(name, python, module, {**job, "setting": first.told["setting"]}, **options)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Have it take a turn. Raises EndedError if it cannot."""
        self._signal(signal.SIGCONT)
        return self._exchange(request)

    def run(self, seconds: float) -> None:
        """Let it go on by itself for a while."""
        self._signal(signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self._pause()

    def send(self, request: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()

    def close(self) -> None:
        """End it and all that it started."""
        self._signal(signal.SIGKILL)
        self.process.communicate()

    def _exchange(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.send(request)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self._pause()
        reply = json.loads(line) if line else {"error": self.last_words()}
        if "error" in reply:
            raise EndedError(reply["error"])
        return reply

    def _pause(self) -> None:
        self._signal(signal.SIGSTOP)
        self.most = max(self.most, group_megabytes(self.process.pid))

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        short = self.process.returncode == -signal.SIGKILL
        killed = " (killed, as the system does where memory is short)" if short else ""
        return f"it ended{killed}: {lines[-1][:300] if lines else 'without a word'}"


class Reader(threading.Thread):
    """Collects what a contender that runs by itself says, each line with the worker's own clock in it."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__(daemon=True)
        self.stream, self.lines = stream, list[dict[str, Any]]()

    def run(self) -> None:
        for line in self.stream:
            self.lines.append(json.loads(line))


def group_megabytes(group: int) -> float:
    """Most memory of a group's processes together, in MB; the program's files, which they share, are counted once.

    0 where the system has no /proc.
    """
    own, files = 0, [0]
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[2]) != group:
                continue
            lines = (status.parent / "status").read_text(encoding="utf-8").splitlines()
            numbers = {key: int(rest.split()[0]) for key, _, rest in (line.partition(":") for line in lines)
                       if key in ("VmHWM", "RssFile")}  # fmt: skip
            if "VmHWM" in numbers:
                own += numbers["VmHWM"] - numbers["RssFile"]
                files.append(numbers["RssFile"])
    return (own + max(files)) / 1024


def free_megabytes() -> float:
    """Memory that new processes may take, in MB; infinite where the system does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 1024
    return float("inf")


@contextlib.contextmanager
def closing_all() -> Iterator[list[Worker]]:
    """A list whose workers end with it; also when the benchmark is told to end."""
    workers: list[Worker] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()
        signal.signal(signal.SIGTERM, before)
