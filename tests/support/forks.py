"""Commands in forks of a warm process: they start in a moment, and may be killed or limited as the request says.

The warm process has imported everything and has no threads, so that forking it is safe.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.command import Done, environment

_FILE_EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}


class Forks:
    """`with Forks() as forks: forks("train", …)`. Each call is the command line in a process of its own."""

    def __enter__(self) -> Forks:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.support.forks"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", bufsize=1, cwd=Path(__file__).parents[2],
            env=environment(TOKENIZERS_PARALLELISM="false", MPLBACKEND="agg"),
        )  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def __call__(
        self,
        *arguments: object,
        folder: Path,
        kill_at_event: int = 0,
        kill_after: float = 0.0,
        file_size: int = 0,
        patch: str = "",
        timeout: float = 60.0,
    ) -> Done:
        """Run it with what it prints in `folder`; a code below 0 is the signal that ended it.

        `kill_at_event`: SIGKILL before the n-th time that it opens for writing, makes, renames or removes
        something below `folder`; `kill_after`: after so many seconds; `file_size`: no file may grow beyond;
        `patch`: a function, as module:name, that is called first in the child.
        """
        request = {"argv": [str(a) for a in arguments], "folder": str(folder), "kill_at_event": kill_at_event,
                   "kill_after": kill_after, "file_size": file_size, "patch": patch, "timeout": timeout}  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        code = int(self._process.stdout.readline())
        out, err = ((folder / f"std{name}").read_bytes() for name in ("out", "err"))
        assert b"Traceback" not in err, err.decode("utf-8")
        return Done(code, out, err.decode("utf-8"))


def kill_at_event(folder: str, count: int) -> None:
    """An audit hook hears of each file before it is touched: a kill can be put between any two of them."""
    left = count

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in _FILE_EVENTS or not str(arguments[0]).startswith(folder):
            return
        if event == "open" and not (arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)


def _child(request: dict[str, Any]) -> int:
    for descriptor, name in ((1, "out"), (2, "err")):
        opened = os.open(Path(request["folder"]) / f"std{name}", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(opened, descriptor)
    if request["file_size"]:
        # Python ignores SIGXFSZ: a write beyond the limit fails as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_size"],) * 2)
    if request["kill_at_event"]:
        kill_at_event(request["folder"] + "/", request["kill_at_event"])
    if request["patch"]:
        module, _, name = request["patch"].partition(":")
        patch: Callable[[], None] = getattr(importlib.import_module(module), name)
        patch()
    from transduce import cli

    sys.argv = ["transduce", *request["argv"]]
    try:
        cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _run(request: dict[str, Any]) -> int:
    """The exit code of a fork, killed when its time has come."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = _child(request)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + (request["kill_after"] or request["timeout"])
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= end:
            os.kill(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        time.sleep(0.002)


def serve() -> None:
    from transduce.acceleration.threads import wait_passively

    wait_passively()
    import matplotlib.figure  # noqa: F401
    import torch
    import torch.utils.flop_counter

    import transduce.cli
    import transduce.commands.train  # noqa: F401

    torch.set_num_threads(1)
    # A pipe that a fork inherits too must not hold its half-read requests.
    while line := sys.stdin.readline():
        print(_run(json.loads(line)), flush=True)


if __name__ == "__main__":
    serve()
