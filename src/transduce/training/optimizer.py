"""Adam as the paper sets it (5.3), and its state by parameter name."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from transduce.errors import RunError
from transduce.experiment import TrainingConfig


class Adam:
    """PyTorch's Adam, in one fused step over all parameters where the device has it.

    By its function, for its class imports PyTorch's compiler, which nothing here uses: 68 MB in each process, and a
    second of its start.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        self.betas, self.epsilon = (config.adam_beta1, config.adam_beta2), config.adam_epsilon
        self._parameters = dict(model.named_parameters())
        self._fused = next(iter(self._parameters.values())).device.type in ("cpu", "cuda")
        self._state = {name: self._zeros(parameter) for name, parameter in self._parameters.items()}

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move each parameter that has a gradient, and let go of the gradients."""
        moved = {name: p for name, p in self._parameters.items() if p.grad is not None}
        states = [self._state[name] for name in moved]
        steps, means, squares = ([state[key] for state in states] for key in ("step", "exp_avg", "exp_avg_sq"))
        adam(
            list(moved.values()), [p.grad for p in moved.values() if p.grad is not None], means, squares, [], steps,
            fused=self._fused, amsgrad=False, beta1=self.betas[0], beta2=self.betas[1], lr=rate, weight_decay=0.0,
            eps=self.epsilon, maximize=False,
        )  # fmt: skip
        for parameter in moved.values():
            parameter.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """The moments and step counts as `name/moment`: readable without knowing the order of parameters."""
        return {f"{name}/{key}": value for name, state in self._state.items() for key, value in state.items()}

    def load(self, tensors: Mapping[str, Tensor], where: str) -> None:
        """Put back what `tensors` gave. Raises RunError where a moment is missing, misshapen or not possible."""
        for name, state in self._state.items():
            for key, like in state.items():
                value = tensors.get(f"{name}/{key}")
                if value is None or value.shape != like.shape or value.dtype != like.dtype:
                    raise RunError(f"{where}: the optimizer's state lacks {name}/{key} in the shape of its parameter")
                # A count and a mean of squares are never below 0.
                if not bool(value.isfinite().all()) or (key != "exp_avg" and bool(value.lt(0).any())):
                    raise RunError(
                        f"{where}: the optimizer's state has values in {name}/{key} that no training comes to"
                    )
                like.copy_(value)

    def _zeros(self, parameter: Tensor) -> dict[str, Tensor]:
        step = torch.zeros((), device=parameter.device if self._fused else "cpu")
        return {"step": step, "exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}
