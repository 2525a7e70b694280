"""Memory: what is said when there is too little, and that measuring a model takes no more with more text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.support.command import environment
from tests.support.copy_run import tiny_experiment
from tests.unit.training.test_loop import updates_of
from transduce.errors import TrainingError
from transduce.recipe import train
from transduce.run_folder import RunFolder
from transduce.tasks.translate import Translate

ROOT = Path(__file__).parents[3]


def refusals() -> list[Exception]:
    """What torch raises on a CUDA card, on the CPU (a real one), on MPS; and Python itself."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(10**15)
    return [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 13.00 GiB."),
        caught.value,
        RuntimeError("MPS backend out of memory (MPS allocated: 1.00 GB)"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        MemoryError(),
    ]


@pytest.mark.parametrize("number", range(5))
def test_too_little_memory_names_the_batch_and_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    error = refusals()[number]
    seen = updates_of(monkeypatch)
    original = Translate.loss
    calls = 0

    def failing(self: Translate, *arguments: object) -> torch.Tensor:
        nonlocal calls
        calls += 1
        # The first counts operations, then come two updates of two batches; the fifth is the second one's last.
        if calls > 4 and torch.is_grad_enabled():
            raise error
        return original(self, *arguments)

    monkeypatch.setattr(Translate, "loss", failing)
    with pytest.raises(TrainingError) as caught:
        train(tiny_experiment(tmp_path, save_every=1, validate_every=50), tmp_path / "run")
    message = str(caught.value)
    batch = seen[-1].micro_batches[-1]
    lines = (tmp_path / "train.txt").read_text(encoding="utf-8").split("\n")
    longest = max(len(lines[i].split(" ")) for i in batch) + 1
    first = ", ".join(str(i + 1) for i in batch[:5])
    size = f"{len(batch)} × {longest} tokens"
    assert message.startswith(
        f"out of memory in a batch of source {size}, target {size} (lines {first} of {tmp_path}/train.txt"
    )
    assert "a lower training.batch_tokens than 300" in message
    assert [s.folder.name for s in RunFolder.open(tmp_path / "run").checkpoints()] == ["step-1"]


def test_other_errors_are_not_taken_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object) -> torch.Tensor:
        raise RuntimeError("shapes differ")

    monkeypatch.setattr(Translate, "loss", failing)
    with pytest.raises(RuntimeError, match="shapes differ"):
        train(tiny_experiment(tmp_path), tmp_path / "run")


VALIDATE = """
import sys, torch
from tests.support.copy_run import load, sentences
from tests.support.peak import peak
from transduce.devices import Compute
from transduce.experiment import Experiment
from transduce.tasks.translate import Translate
from transduce.training.validation import HeldOut, Validator
from pathlib import Path

torch.set_num_threads(1)
copier = load(Path(sys.argv[1]))
settings = copier.experiment.model_dump()
settings["validation"]["sentences"] = 5000
experiment = Experiment.model_validate(settings)
for count in (1000, 5000):
    texts = sentences(count, seed=5, longest=6)
    texts[0] = " ".join(["red"] * 9)
    compute = Compute(torch.device("cpu"), "fp32", 1, 1)
    Validator(HeldOut(texts, texts), copier.tokenizers, Translate(), experiment, compute)(copier.models[0])
    print(peak())
"""


@pytest.mark.slow
def test_case_97_validation_takes_no_more_memory_with_more_sentences(copy_run: Path) -> None:
    """Loss, translation and scores of 5,000 sentences, after 1,000 of them, in the same process."""
    done = subprocess.run(
        [sys.executable, "-c", VALIDATE, str(copy_run)],
        capture_output=True, encoding="utf-8", timeout=200, env=environment(), cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    few, many = (int(peak) for peak in re.findall(r"\d+", done.stdout))
    assert many - few < 50e6
