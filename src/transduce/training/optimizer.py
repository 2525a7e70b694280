"""Adam as the paper sets it (5.3), and its state by parameter name."""

from __future__ import annotations

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


def load_optimizer(model: nn.Module, optimizer: torch.optim.Adam, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave. Raises RunError where a moment is missing or misshapen."""
    for name, parameter in model.named_parameters():
        state = {}
        for key in ("step", "exp_avg", "exp_avg_sq"):
            value = tensors.get(f"{name}/{key}")
            if value is None or (key != "step" and value.shape != parameter.shape):
                raise RunError(f"the checkpoint's optimizer state lacks {name}/{key} in the shape of its parameter")
            state[key] = value.to(parameter.device)
        optimizer.state[parameter] = state
