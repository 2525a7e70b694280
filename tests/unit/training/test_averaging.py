"""The mean of checkpoints (paper 6.1)."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from transduce.errors import RunError
from transduce.run_folder import Snapshot, write_snapshot
from transduce.training.averaging import average_weights


def saved(folder: Path, step: int, **weights: torch.Tensor) -> Snapshot:
    return write_snapshot(folder / f"step-{step}", {"weights": weights}, {})


def test_case_197_the_average_is_the_mean(tmp_path: Path) -> None:
    stacks = {"a": torch.randn(3, 2, 5), "b": torch.randn(3, 7)}
    snapshots = [saved(tmp_path, i, a=stacks["a"][i], b=stacks["b"][i]) for i in range(3)]
    for name, mean in average_weights(snapshots).items():
        assert mean.dtype == torch.float32
        torch.testing.assert_close(mean, stacks[name].double().mean(0).float(), rtol=0, atol=1e-7)


def test_the_average_of_one_is_itself(tmp_path: Path) -> None:
    a = torch.randn(2, 3)
    assert torch.equal(average_weights([saved(tmp_path, 1, a=a)])["a"], a)


def test_the_sum_is_kept_in_double_precision(tmp_path: Path) -> None:
    """2^24 + 1 − 2^24: in single precision the 1 would be lost."""
    values = (2.0**24, 1.0, -(2.0**24))
    snapshots = [saved(tmp_path, i, a=torch.tensor([value])) for i, value in enumerate(values)]
    assert average_weights(snapshots)["a"].tolist() == pytest.approx([1 / 3])


@pytest.mark.parametrize("other", [{"a": torch.zeros(3)}, {"b": torch.zeros(2)}])
def test_checkpoints_of_two_models_have_no_mean(tmp_path: Path, other: dict[str, torch.Tensor]) -> None:
    snapshots = [saved(tmp_path, 1, a=torch.zeros(2)), saved(tmp_path, 2, **other)]
    with pytest.raises(RunError, match=r"step-2: its weights are not those of .*step-1"):
        average_weights(snapshots)
