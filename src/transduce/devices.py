"""On what a run computes: device, precision, threads; chosen automatically, printed, settable."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field

from transduce.config import Config
from transduce.errors import ConfigError

MOST_THREADS = 1024
"""Of a process: more than the cores of any machine, and fewer than what the system would refuse with an abort."""

if hasattr(os, "register_at_fork"):
    # A fork has none of its parent's threads, and OpenMP would wait for them for ever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


class ComputeConfig(Config):
    """Where and how numbers are computed. The result of a run depends on it only in rounding."""

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """cpu, cuda (one NVIDIA card per process) or mps (Apple); auto takes the fastest that is there."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """fp32, or bf16 autocast; auto is bf16 on a CUDA card that has it, else fp32."""
    threads: int = Field(0, ge=0, le=MOST_THREADS)
    """CPU threads of each process; 0 = its share of the cores that it may use."""
    processes: int = Field(0, ge=0, le=MOST_THREADS)
    """Processes on this machine that `transduce train` trains with on a CPU; 0 = one for each core, as far as an
    update has passes for them, and a single one where `threads` is given or the model has 20 million parameters.
    torchrun decides this itself."""


@dataclass(frozen=True, slots=True)
class Compute:
    """A resolved `ComputeConfig`."""

    device: torch.device
    precision: Literal["fp32", "bf16"]
    threads: int
    cores: int
    """Threads where the other processes of this machine wait: `threads`, if there are no others."""

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """For what one process computes while the others of its machine wait."""
        torch.set_num_threads(self.cores)
        try:
            yield
        finally:
            torch.set_num_threads(self.threads)

    @property
    def exact_on_cpu(self) -> bool:
        """Whether float32 is computed on the CPU, for which alone there is native code."""
        return self.device.type == "cpu" and self.precision == "fp32"

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """bf16 for matrix products where that was chosen, otherwise nothing."""
        if self.precision == "fp32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def __str__(self) -> str:
        return f"{self.device}, {self.precision}, {self.threads} thread{'s' if self.threads > 1 else ''}"


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
    cores = config.threads or usable_cores()
    threads = config.threads or max(1, cores // processes)
    torch.set_num_threads(threads)
    if device != "cuda":
        return Compute(torch.device(device), precision, threads, cores)
    torch.cuda.set_device(number)
    return Compute(torch.device(device, number), precision, threads, cores)


def usable_cores() -> int:
    """Cores that this process may run on: fewer than the machine's where it was confined to some."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory(device: torch.device) -> int | None:
    """Bytes that a device has in all; None where it does not say."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    if device.type == "cpu" and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


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
