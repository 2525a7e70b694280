"""On a CPU: one process of one thread per core, instead of one process with a thread per core.

Threads wait for each other at the end of every product, processes once an update; and a small model's products are
too small to share. On two cores a model of width 128 learned from 1.4 times as many tokens a second this way. What
is learned is the same: an update's passes are spread over the processes as torchrun would spread them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import torch.distributed as dist

from transduce import devices
from transduce.experiment import Experiment
from transduce.models.outline import count_parameters
from transduce.signals import interrupts_are_ours
from transduce.training.distributed import leave

WORTH_IT = 200
"""Updates below which starting more processes takes longer than they save."""
LARGE = 20_000_000
"""Parameters from which one process does as well: its products are large enough to share. The paper's base model (49
million) was as fast with two, and they took 4.4 GB instead of 2.5."""
PATIENCE = 60.0
"""Seconds that the others have to end by themselves."""


def processes(experiment: Experiment) -> int:
    """How many processes should train on this machine: 1 under torchrun, which has decided that, and on a GPU."""
    if "WORLD_SIZE" in os.environ or devices.resolve(experiment.compute).device.type != "cpu":
        return 1
    if experiment.compute.processes:
        return experiment.compute.processes
    training = experiment.training
    if experiment.compute.threads or training.max_updates < WORTH_IT:
        return 1
    count = min(devices.usable_cores(), training.accumulate)
    # As many as the tokenizers may have: nothing has been learned yet.
    entries = experiment.tokenizer.vocabulary
    return 1 if count > 1 and count_parameters(experiment.model, entries, entries) >= LARGE else count


@contextmanager
def company(count: int, arguments: Sequence[str]) -> Iterator[None]:
    """Have `count` processes on this machine, this one the first: the others are `transduce` with these arguments.

    They find each other as torchrun's processes do. None outlives this one's part: they end when their own is done,
    or are ended where this one fails.
    """
    if count == 1:
        yield
        return
    shared = {
        "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()), "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
    }  # fmt: skip
    others: list[subprocess.Popen[bytes]] = []
    with _environment({**shared, "RANK": "0", "LOCAL_RANK": "0"}):
        try:
            with interrupts_are_ours():
                for rank in map(str, range(1, count)):
                    others.append(_start(arguments, {"RANK": rank, "LOCAL_RANK": rank}))
            yield
            for other in others:
                with suppress(subprocess.TimeoutExpired):
                    other.wait(PATIENCE)
        finally:
            for other in others:
                other.kill()
                other.wait()
            leave()


def _start(arguments: Sequence[str], numbers: Mapping[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "transduce", *arguments]
    return subprocess.Popen(command, env={**os.environ, **numbers}, stdin=subprocess.DEVNULL)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _free_port() -> int:
    return dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False).port  # type: ignore[attr-defined]
