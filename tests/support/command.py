"""The command line as a user runs it: in a process of its own, or in this one where only the words matter."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from transduce import cli, devices

COMMAND = (sys.executable, "-W", "error", "-m", "transduce")
"""Warnings would be seen by users: here they fail."""


@dataclass(frozen=True)
class Done:
    """What a finished command left."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        """Standard output, line for line."""
        return self.out.decode("utf-8").split("\n")[:-1]

    def succeeded(self) -> Done:
        assert self.code == 0, self.err
        return self

    def refused(self, *words: str, code: int = 2) -> None:
        """Nothing on standard output, one message with these words, no traceback."""
        assert self.code == code, f"exit code {self.code}\n{self.err}"
        assert self.out == b""
        for word in words:
            assert word in self.err
        assert self.err.count("transduce: ") >= 1


def environment(**changes: str) -> dict[str, str]:
    """One thread: in small commands more threads only wait for each other."""
    return {**os.environ, "OMP_NUM_THREADS": "1", **changes}


def transduce(
    *arguments: object,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> Done:
    """`python -m transduce …` in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment() if env is None else dict(env),
        timeout=timeout,
        check=False,
    )
    err = done.stderr.decode("utf-8")
    assert "Traceback" not in err, err
    return Done(done.returncode, done.stdout, err)


class InProcess:
    """The same without the two seconds that a process takes to start. Any exception of ours fails the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]) -> None:
        self.monkeypatch, self.capture = monkeypatch, capture

    def __call__(self, *arguments: object, stdin: bytes = b"") -> Done:
        self.capture.readouterr()
        self.monkeypatch.setattr(devices, "usable_cores", lambda: 1)
        self.monkeypatch.setattr(sys, "argv", ["transduce", *map(str, arguments)])
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        out, err = self.capture.readouterr()
        return Done(code, out, err.decode("utf-8"))
