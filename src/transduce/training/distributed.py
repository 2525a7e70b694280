"""Several processes that train one model: torchrun starts them, each takes every N-th batch of an update.

Gradients are summed once per update. Which batches make an update, and what seeds their dropout, does
not depend on the number of processes; so N processes do what one does with N-fold accumulation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class World:
    """This process's number and how many there are."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes, validates and reports."""
        return self.rank == 0

    def sum_gradients(self, model: nn.Module) -> None:
        """Add up the gradients of all processes, in one message."""
        if self.size == 1:
            return
        parameters = list(model.parameters())
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def wait(self) -> None:
        """Until every process is here."""
        if self.size > 1:
            dist.barrier()

    def sum(self, value: Tensor) -> Tensor:
        """The sum of a value over all processes."""
        if self.size > 1:
            dist.all_reduce(value)
        return value

    def agree(self, flags: Iterable[bool], device: torch.device) -> list[bool]:
        """Each flag as the leading process has it or, for any process's wish to stop, as one of them has it."""
        value = torch.tensor([int(flag) for flag in flags], device=device)
        if self.size > 1:
            dist.all_reduce(value, op=dist.ReduceOp.MAX)
        return [bool(flag) for flag in value.tolist()]


def leads() -> bool:
    """Whether this process is the one that reports: known from torchrun's environment before it joins."""
    return os.environ.get("RANK", "0") == "0"


def join(device: torch.device) -> World:
    """The world that torchrun's environment describes; a world of one without it."""
    if "WORLD_SIZE" not in os.environ or int(os.environ["WORLD_SIZE"]) == 1:
        return World()
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return World(dist.get_rank(), dist.get_world_size())
