"""Adam's state goes to disk and back by the names of the parameters."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.support.copy_run import tiny_experiment
from transduce.errors import RunError
from transduce.experiment import TrainingConfig
from transduce.experiment.load import to_toml
from transduce.training.optimizer import Adam


class Model(nn.Module):
    def __init__(self, *names: str) -> None:
        super().__init__()
        shapes = {"a": (2, 3), "b": (5,)}
        for name in names:
            self.register_parameter(name, nn.Parameter(torch.ones(shapes[name])))

    def update(self, optimizer: Adam, rate: float) -> None:
        for name, parameter in self.named_parameters():
            parameter.grad = torch.sin(parameter.detach() * (3 if name == "a" else 7))
        optimizer.step(rate)

    def values(self) -> dict[str, Tensor]:
        return {name: p.detach().clone() for name, p in self.named_parameters()}


def test_going_on_from_stored_state_is_as_if_never_stopped() -> None:
    config = TrainingConfig()
    model = Model("a", "b")
    optimizer = Adam(model, config)
    for _ in range(3):
        model.update(optimizer, 0.1)
    stored = {name: tensor.clone() for name, tensor in optimizer.tensors().items()}
    assert sorted(stored) == [f"{p}/{m}" for p in "ab" for m in ("exp_avg", "exp_avg_sq", "step")]

    # The other way round: what counts is the name, not the place.
    other = Model("b", "a")
    other.load_state_dict(model.values())
    resumed = Adam(other, config)
    resumed.load(stored, "there")
    for _ in range(2):
        model.update(optimizer, 0.05)
        other.update(resumed, 0.05)
    after = other.values()
    assert all(torch.equal(value, after[name]) for name, value in model.values().items())


def test_the_steps_are_those_of_pytorchs_class_and_of_the_papers_equations() -> None:
    config = TrainingConfig(adam_epsilon=1e-3)
    model, theirs = Model("a", "b"), Model("a", "b")
    optimizer = Adam(model, config)
    other = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=1e-3, fused=True)
    plain = {name: value.double() for name, value in model.values().items()}
    m, v = ({name: torch.zeros_like(value) for name, value in plain.items()} for _ in range(2))
    for t, rate in enumerate((0.3, 0.1, 0.2), start=1):
        for name, parameter in theirs.named_parameters():
            parameter.grad = torch.sin(parameter.detach() * (3 if name == "a" else 7))
        model.update(optimizer, rate)
        other.param_groups[0]["lr"] = rate
        other.step()
        for name, theta in plain.items():
            g = torch.sin(theta * (3 if name == "a" else 7))
            m[name] = 0.9 * m[name] + 0.1 * g
            v[name] = 0.98 * v[name] + 0.02 * g**2
            theta -= rate * (m[name] / (1 - 0.9**t)) / ((v[name] / (1 - 0.98**t)).sqrt() + 1e-3)
    found = model.values()
    assert all(torch.equal(value, found[name]) for name, value in theirs.values().items())
    for name, theta in plain.items():
        torch.testing.assert_close(found[name].double(), theta, rtol=1e-5, atol=1e-6)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_what_has_no_gradient_stays() -> None:
    model = Model("a", "b")
    optimizer = Adam(model, TrainingConfig())
    model.a.grad = torch.ones(2, 3)
    optimizer.step(0.1)
    assert model.b.eq(1).all() and not model.a.eq(1).any()
    assert [float(optimizer.tensors()[f"{name}/step"]) for name in "ab"] == [1, 0]


def test_training_does_not_load_pytorchs_compiler(tmp_path: Path) -> None:
    """It takes 68 MB and a second, in each process that trains."""
    (tmp_path / "e.toml").write_text(to_toml(tiny_experiment(tmp_path, max_updates=2, clip_norm=1.0)), encoding="utf-8")
    script = (
        "import sys; from pathlib import Path; from transduce.recipe import load_experiment, train; "
        "train(load_experiment(Path('e.toml')).experiment, Path('run')); assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)


@pytest.mark.parametrize("key", ["a/exp_avg", "b/step", "b/exp_avg_sq"])
@pytest.mark.parametrize("fault", ["missing", "shape"])
def test_state_that_does_not_fit_is_refused_by_name(key: str, fault: str) -> None:
    model = Model("a", "b")
    optimizer = Adam(model, TrainingConfig())
    model.update(optimizer, 0.1)
    stored = dict(optimizer.tensors())
    if fault == "shape" and not key.endswith("step"):
        stored[key] = torch.zeros(11)
    else:
        del stored[key]
    with pytest.raises(RunError, match=f"there: .* lacks {key}"):
        optimizer.load(stored, "there")


@pytest.mark.parametrize("key", ["a/exp_avg", "b/step", "b/exp_avg_sq"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_values_that_no_training_comes_to_are_refused(key: str, value: float) -> None:
    """Only the mean of gradients may be below 0."""
    model = Model("a", "b")
    optimizer = Adam(model, TrainingConfig())
    model.update(optimizer, 0.1)
    stored = dict(optimizer.tensors())
    stored[key] = torch.full_like(stored[key], value)
    if key == "a/exp_avg" and value == -1.0:
        optimizer.load(stored, "there")
        return
    with pytest.raises(RunError, match=f"there: .* values in {key}"):
        optimizer.load(stored, "there")


def test_moments_of_another_type_are_refused() -> None:
    model = Model("a", "b")
    optimizer = Adam(model, TrainingConfig())
    model.update(optimizer, 0.1)
    stored = dict(optimizer.tensors())
    stored["a/exp_avg"] = stored["a/exp_avg"].double()
    with pytest.raises(RunError, match=r"there: .* lacks a/exp_avg"):
        optimizer.load(stored, "there")
