"""Adam as the paper sets it (5.3), and its state by parameter name."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from transduce.errors import RunError
from transduce.experiment import TrainingConfig


def build_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Adam:
    """One fused step over all parameters where the device has it; the learning rate is set before each update."""
    fused = next(model.parameters()).device.type in ("cpu", "cuda")
    betas = (config.adam_beta1, config.adam_beta2)
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=betas, eps=config.adam_epsilon, fused=fused)


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Adam) -> dict[str, Tensor]:
    """Adam's moments and step counts as `name/moment`: readable without knowing the order of parameters."""
    return {
        f"{name}/{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def load_optimizer(model: nn.Module, optimizer: torch.optim.Adam, tensors: Mapping[str, Tensor], where: str) -> None:
    """Put back what `optimizer_tensors` gave. Raises RunError where a moment is missing, misshapen or not possible."""
    for name, parameter in model.named_parameters():
        state = {}
        step = parameter.new_zeros((), dtype=torch.float32)
        for key, like in (("step", step), ("exp_avg", parameter), ("exp_avg_sq", parameter)):
            value = tensors.get(f"{name}/{key}")
            if value is None or value.shape != like.shape or value.dtype != like.dtype:
                raise RunError(f"{where}: the optimizer's state lacks {name}/{key} in the shape of its parameter")
            # A count and a mean of squares are never below 0.
            if not bool(value.isfinite().all()) or (key != "exp_avg" and bool(value.lt(0).any())):
                raise RunError(f"{where}: the optimizer's state has values in {name}/{key} that no training comes to")
            state[key] = value.to(parameter.device)
        optimizer.state[parameter] = state
