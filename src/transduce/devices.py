"""On what a run computes: device, precision, threads; chosen automatically, printed, settable."""

from __future__ import annotations

import contextlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field

from transduce.config import Config
from transduce.errors import ConfigError


class ComputeConfig(Config):
    """Where and how numbers are computed. The result of a run depends on it only in rounding."""

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """cpu, cuda (one NVIDIA card per process) or mps (Apple); auto takes the fastest that is there."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """fp32, or bf16 autocast; auto is bf16 on a CUDA card that has it, else fp32."""
    threads: int = Field(0, ge=0)
    """CPU threads of this process; 0 = as many as the cores it may use, shared among torchrun's processes."""


@dataclass(frozen=True, slots=True)
class Compute:
    """A resolved `ComputeConfig`."""

    device: torch.device
    precision: Literal["fp32", "bf16"]
    threads: int

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """bf16 for matrix products where that was chosen, otherwise nothing."""
        if self.precision == "fp32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def __str__(self) -> str:
        return f"{self.device}, {self.precision}, {self.threads} threads"


def resolve(config: ComputeConfig) -> Compute:
    """Choose what is automatic, refuse what this machine lacks, and set the number of threads."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    device = config.device
    if device == "auto":
        device = next(name for name in ("cuda", "mps", "cpu") if there[name])
    elif not there[device]:
        present = ", ".join(name for name, is_there in there.items() if is_there)
        raise ConfigError(f"compute.device = {device!r}: this machine (or this build of torch) has {present} only")
    precision = config.precision
    if precision == "auto":
        precision = "bf16" if device == "cuda" and torch.cuda.is_bf16_supported() else "fp32"
    # torchrun numbers the processes of a machine: each takes its own card and its share of the cores.
    number, processes = (int(os.environ.get(name, n)) for name, n in (("LOCAL_RANK", 0), ("LOCAL_WORLD_SIZE", 1)))
    threads = config.threads or max(1, usable_cores() // processes)
    torch.set_num_threads(threads)
    if device != "cuda":
        return Compute(torch.device(device), precision, threads)
    torch.cuda.set_device(number)
    return Compute(torch.device(device, number), precision, threads)


def usable_cores() -> int:
    """Cores that this process may run on: fewer than the machine's where it was confined to some."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def hardware() -> dict[str, str | int]:
    """What a result was computed on, for its record."""
    return {
        "processor": _processor(),
        "cores": usable_cores(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _processor() -> str:
    # platform.processor() is empty on most Linux systems.
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
