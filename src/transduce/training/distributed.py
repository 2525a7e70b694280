"""Several processes that train one model: torchrun starts them, each takes every N-th batch of an update.

Once per update gradients are summed in the leading process, which moves the weights and gives them to all: so on one
machine there is one optimizer's memory, not one a process. Which batches make an update, and what seeds their dropout,
does not depend on the number of processes; so N processes do what one does with N-fold accumulation.

A process that dies closes its connections, which ends the others at once; one that only stops answering
does so after `SILENCE`. While one process does what takes long (prepare text, validate), the others wait
at a gate of its own that allows for `LONG_WORK`.
"""

from __future__ import annotations

import atexit
import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous

from transduce.errors import TrainingError

SILENCE = timedelta(minutes=10)
"""How long an update may wait for another process's share of it."""
LONG_WORK = timedelta(days=2)
"""How long the others wait while one prepares the text or validates."""
ROLL_CALL = timedelta(seconds=5)
"""How long process 0 waits for signs of life, to say which process was lost."""

MESSAGE = 1 << 20
"""Numbers that are summed at a time. In one message, all of a model's would take memory twice over."""


@dataclass(frozen=True, slots=True)
class World:
    """This process's number and how many there are.

    Every method that waits for others raises TrainingError where one of them is lost.
    """

    rank: int = 0
    size: int = 1
    store: dist.Store | None = None
    """Where the processes leave notes for each other."""
    gate: dist.ProcessGroup | None = None
    """For waiting long; on the CPU, where a closed connection is noticed at once."""

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes, validates and reports."""
        return self.rank == 0

    def sum_gradients(self, model: nn.Module) -> None:
        """Add up the gradients of all processes in the leading one; the others let go of theirs."""
        if self.size == 1:
            return
        parameters = list(model.parameters())
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self._exchange([p.grad for p in parameters if p.grad is not None], partial(dist.reduce, dst=0))
        if not self.leads:
            model.zero_grad(set_to_none=True)

    def spread_weights(self, model: nn.Module) -> None:
        """Give the leading process's weights to all."""
        if self.size > 1:
            self._exchange([p.detach() for p in model.parameters()], partial(dist.broadcast, src=0))

    def _exchange(self, tensors: Sequence[Tensor], call: Callable[[Tensor], object]) -> None:
        """`call` for each of them: for small ones together in a message, for a large one where it is."""
        for together in _messages(tensors):
            alone = len(together) == 1 and together[0].is_contiguous()
            message = together[0] if alone else torch.cat([tensor.flatten() for tensor in together])
            with self._told():
                call(message)
            if not alone:
                for tensor, part in zip(together, message.split([t.numel() for t in together]), strict=True):
                    tensor.copy_(part.view_as(tensor))

    def wait(self) -> None:
        """Until every process is here, however long that takes."""
        if self.size > 1:
            with self._told():
                dist.barrier(group=self.gate)

    def sum(self, value: Tensor) -> Tensor:
        """The sum of a value over all processes."""
        if self.size > 1:
            with self._told():
                dist.all_reduce(value)
        return value

    def least(self, value: int) -> int:
        """The smallest of all processes' numbers; a process may take long to come to its own."""
        least = torch.tensor(value)
        if self.size > 1:
            with self._told():
                dist.all_reduce(least, op=dist.ReduceOp.MIN, group=self.gate)
        return int(least)

    def agree(self, flags: Iterable[bool], *, patient: bool = False) -> list[bool]:
        """Each flag true where it is true for any process; `patient` where one of them may take long."""
        value = torch.tensor([int(flag) for flag in flags])
        if self.size > 1:
            with self._told():
                dist.all_reduce(value, op=dist.ReduceOp.MAX, group=self.gate if patient else None)
        return [bool(flag) for flag in value.tolist()]

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise TrainingError(
                f"process {self.rank} of {self.size} had to stop: {self._lost()}. Its own message or the system's log "
                "says why, often memory. What was saved is whole: start all processes again with --resume "
                f"({str(error).splitlines()[0][:200]})"
            ) from None

    def _lost(self) -> str:
        """Which process was lost, as far as this one can know: process 0 calls the roll, the others answer."""
        assert self.store is not None
        missing = []
        try:
            self.store.set(f"transduce/alive/{self.rank}", "")
            end = time.monotonic() + ROLL_CALL.total_seconds()
            for rank in range(self.size) if self.leads else ():
                left = timedelta(seconds=max(0.01, end - time.monotonic()))
                try:
                    self.store.wait([f"transduce/alive/{rank}"], left)
                except RuntimeError:
                    missing.append(str(rank))
        except RuntimeError:
            return "process 0 was lost"
        if not missing:
            return "another process of this run was lost"
        return f"process {' and '.join(missing)} of this run {'was' if len(missing) == 1 else 'were'} lost"


def _messages(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Those that follow one another, up to `MESSAGE` numbers together; a larger one by itself."""
    message: list[Tensor] = []
    for tensor in tensors:
        if message and sum(t.numel() for t in message) + tensor.numel() > MESSAGE:
            yield message
            message = []
        message.append(tensor)
    if message:
        yield message


def leads() -> bool:
    """Whether this process is the one that reports: known from torchrun's environment before it joins."""
    return os.environ.get("RANK", "0") == "0"


def neighbours() -> int:
    """How many processes of this run share this machine, this one among them."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def join(device: torch.device) -> World:
    """The world that torchrun's environment describes; a world of one without it."""
    if "WORLD_SIZE" not in os.environ or int(os.environ["WORLD_SIZE"]) == 1:
        return World()
    return _meet("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")


@cache
def _meet(backend: str) -> World:
    """Once: a process that trains twice stays in its world."""
    try:
        store, rank, size = next(iter(rendezvous("env://")))
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=SILENCE)
        gate = dist.new_group(backend="gloo", timeout=LONG_WORK)
    except (RuntimeError, ValueError) as error:
        raise TrainingError(
            f"the processes could not find each other: {str(error).splitlines()[0][:200]}; all of them need the same "
            "WORLD_SIZE, MASTER_ADDR and MASTER_PORT and a RANK of their own, which torchrun sets"
        ) from None
    atexit.register(leave)
    return World(rank, size, store, gate)


def leave() -> None:
    """End gloo's threads while Python still runs, and be alone again.

    One that lets go of a tensor after that aborts the process (PyTorch's pull request 179291): now and then one of
    several processes would fail after its work was done, and torchrun would kill the others for it.
    """
    if not dist.is_initialized():
        return
    atexit.unregister(leave)
    _meet.cache_clear()
    gc.collect()
    dist.destroy_process_group()
