"""The plain training loop that every peer's model is put into: the same passes, loss, optimizer and schedule."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import torch
from torch import Tensor, nn

from bench.peers.protocol import BOS, EOS, PAD, Json, Link, megabytes


@dataclass(frozen=True)
class Pass:
    """A forward pass's sentences, padded. `source` and `expected` end in EOS, `previous` begins with BOS."""

    source: Tensor
    source_lengths: Tensor
    previous: Tensor
    expected: Tensor
    target_lengths: Tensor

    @classmethod
    def of(cls, rows: Json, device: str) -> Pass:
        sources = [[*row, EOS] for row in rows["source"]]
        previous = [[BOS, *row] for row in rows["target"]]
        expected = [[*row, EOS] for row in rows["target"]]
        made = [_padded(sources), _lengths(sources), _padded(previous), _padded(expected), _lengths(expected)]
        return cls(*(tensor.to(device, non_blocking=True) for tensor in made))


def _padded(rows: Sequence[Sequence[int]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def _lengths(rows: Sequence[Sequence[int]]) -> Tensor:
    return torch.tensor([len(row) for row in rows])


LossOf = Callable[[Pass], Tensor]
"""The loss of a pass, summed over its target tokens."""


def smoothed(logits: Tensor, expected: Tensor, smoothing: float) -> Tensor:
    """PyTorch's own cross entropy with label smoothing, summed."""
    return nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]).float(), expected.reshape(-1), ignore_index=PAD, label_smoothing=smoothing,
        reduction="sum",
    )  # fmt: skip


def train(job: Json, link: Link, model: nn.Module, loss_of: LossOf, version: str) -> None:
    """Serve requests `{"updates": n}`: make the next n updates, and say how long they took.

    An update adds up the gradients of its passes, divided by its target tokens, and steps once.
    """
    torch.set_num_threads(job["threads"])
    device, bf16 = job["device"], job["precision"] == "bf16"
    model.to(device).train()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(parameters, betas=(0.9, 0.98), eps=1e-9)
    updates = cycle(json.loads(Path(job["folder"], "updates.json").read_text(encoding="utf-8")))
    done = 0
    link.write(ready=True, version=version, torch=torch.__version__, parameters=sum(p.numel() for p in parameters))
    for request in link.requests():
        begun, tokens = time.perf_counter(), 0
        for _ in range(request["updates"]):
            passes = [Pass.of(rows, device) for rows in next(updates)]
            expected = sum(int(part.target_lengths.sum()) for part in passes)
            loss = 0.0
            for part in passes:
                with torch.autocast(device, torch.bfloat16) if bf16 else contextlib.nullcontext():
                    share = loss_of(part) / expected
                share.backward()
                loss += share.detach()
            done += 1
            rate = job["learning_rate"] * min(done / job["warmup"], (job["warmup"] / done) ** 0.5)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            tokens += expected
        final = float(loss)
        seconds = time.perf_counter() - begun
        link.write(tokens=tokens, seconds=seconds, loss=final, megabytes=megabytes(), **on_device(device))


def on_device(device: str) -> Json:
    """The most memory that a GPU has held."""
    return {"device_megabytes": torch.cuda.max_memory_allocated() / 2**20} if device == "cuda" else {}


def embed_positions(length: int, width: int) -> Tensor:
    """Sines and cosines (paper 3.5), (length, width)."""
    rates = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).view(length, width)
