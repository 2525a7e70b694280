"""Adam's state goes to disk and back by the names of the parameters."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from transduce.errors import RunError
from transduce.experiment import TrainingConfig
from transduce.training.optimizer import build_optimizer, load_optimizer, optimizer_tensors


class Model(nn.Module):
    def __init__(self, *names: str) -> None:
        super().__init__()
        shapes = {"a": (2, 3), "b": (5,)}
        for name in names:
            self.register_parameter(name, nn.Parameter(torch.ones(shapes[name])))

    def update(self, optimizer: torch.optim.Adam, rate: float) -> None:
        for group in optimizer.param_groups:
            group["lr"] = rate
        for name, parameter in self.named_parameters():
            parameter.grad = torch.sin(parameter.detach() * (3 if name == "a" else 7))
        optimizer.step()

    def values(self) -> dict[str, Tensor]:
        return {name: p.detach().clone() for name, p in self.named_parameters()}


def test_going_on_from_stored_state_is_as_if_never_stopped() -> None:
    config = TrainingConfig()
    model = Model("a", "b")
    optimizer = build_optimizer(model, config)
    for _ in range(3):
        model.update(optimizer, 0.1)
    stored = {name: tensor.clone() for name, tensor in optimizer_tensors(model, optimizer).items()}
    assert sorted(stored) == [f"{p}/{m}" for p in "ab" for m in ("exp_avg", "exp_avg_sq", "step")]

    # The other way round: what counts is the name, not the place.
    other = Model("b", "a")
    other.load_state_dict(model.values())
    resumed = build_optimizer(other, config)
    load_optimizer(other, resumed, stored, "there")
    for _ in range(2):
        model.update(optimizer, 0.05)
        other.update(resumed, 0.05)
    after = other.values()
    assert all(torch.equal(value, after[name]) for name, value in model.values().items())


@pytest.mark.parametrize("key", ["a/exp_avg", "b/step", "b/exp_avg_sq"])
@pytest.mark.parametrize("fault", ["missing", "shape"])
def test_state_that_does_not_fit_is_refused_by_name(key: str, fault: str) -> None:
    model = Model("a", "b")
    optimizer = build_optimizer(model, TrainingConfig())
    model.update(optimizer, 0.1)
    stored = optimizer_tensors(model, optimizer)
    if fault == "shape" and not key.endswith("step"):
        stored[key] = torch.zeros(11)
    else:
        del stored[key]
    with pytest.raises(RunError, match=f"there: .* lacks {key}"):
        load_optimizer(model, optimizer, stored, "there")


@pytest.mark.parametrize("key", ["a/exp_avg", "b/step", "b/exp_avg_sq"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_values_that_no_training_comes_to_are_refused(key: str, value: float) -> None:
    """Only the mean of gradients may be below 0."""
    model = Model("a", "b")
    optimizer = build_optimizer(model, TrainingConfig())
    model.update(optimizer, 0.1)
    stored = optimizer_tensors(model, optimizer)
    stored[key] = torch.full_like(stored[key], value)
    if key == "a/exp_avg" and value == -1.0:
        load_optimizer(model, optimizer, stored, "there")
        return
    with pytest.raises(RunError, match=f"there: .* values in {key}"):
        load_optimizer(model, optimizer, stored, "there")


def test_moments_of_another_type_are_refused() -> None:
    model = Model("a", "b")
    optimizer = build_optimizer(model, TrainingConfig())
    model.update(optimizer, 0.1)
    stored = optimizer_tensors(model, optimizer)
    stored["a/exp_avg"] = stored["a/exp_avg"].double()
    with pytest.raises(RunError, match=r"there: .* lacks a/exp_avg"):
        load_optimizer(model, optimizer, stored, "there")
