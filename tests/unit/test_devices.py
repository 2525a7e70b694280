"""What a run computes on."""

from __future__ import annotations

import os

import pytest
import torch

from transduce import devices
from transduce.devices import ComputeConfig, hardware, resolve, usable_cores
from transduce.errors import ConfigError


def test_automatic_choices_without_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    compute = resolve(ComputeConfig())
    assert (compute.device, compute.precision, compute.threads) == (torch.device("cpu"), "fp32", usable_cores())
    assert torch.get_num_threads() == usable_cores()
    assert str(compute) == f"cpu, fp32, {usable_cores()} threads"


@pytest.mark.parametrize(
    ("cuda", "bf16", "mps", "device", "precision"),
    [
        (True, True, False, "cuda:0", "bf16"),
        (True, False, True, "cuda:0", "fp32"),
        (False, True, True, "mps", "fp32"),
    ],
)
def test_the_fastest_that_is_there(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, bf16: bool, mps: bool, device: str, precision: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: bf16)
    monkeypatch.setattr(torch.cuda, "set_device", lambda number: None)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    compute = resolve(ComputeConfig(threads=1))
    assert (str(compute.device), compute.precision) == (device, precision)


def test_processes_of_one_machine_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torchrun numbers them: the third of five has its own card and a fifth of the cores."""
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(devices, "usable_cores", lambda: 16)
    monkeypatch.setenv("LOCAL_RANK", "2")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "5")
    assert str(resolve(ComputeConfig())) == "cuda:2, bf16, 3 threads"
    assert chosen == [2]
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "31")
    assert resolve(ComputeConfig(device="cpu")).threads == 1


def test_what_is_asked_for_is_taken() -> None:
    compute = resolve(ComputeConfig(device="cpu", precision="bf16", threads=3))
    assert str(compute) == "cpu, bf16, 3 threads"
    assert torch.get_num_threads() == 3
    x = torch.ones(2, 2)
    with compute.autocast():
        assert (x @ x).dtype == torch.bfloat16
    with resolve(ComputeConfig(device="cpu", threads=1)).autocast():
        assert (x @ x).dtype == torch.float32


def test_what_this_machine_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for device in ("cuda", "mps"):
        with pytest.raises(ConfigError, match=rf"compute\.device = '{device}': this machine .* has cpu only"):
            resolve(ComputeConfig(device=device))  # type: ignore[arg-type]


def test_cores_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert usable_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 11)
    assert usable_cores() == 11
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


def test_the_record_of_the_hardware() -> None:
    found = hardware()
    assert found["torch"] == torch.__version__
    assert found["cores"] == usable_cores()
    assert found["processor"] == devices._processor() != ""
