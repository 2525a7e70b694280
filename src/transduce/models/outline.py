"""What a model would be made of, told without making it: no memory is taken and no random number drawn."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from transduce.errors import ConfigError
from transduce.models.contract import ModelSettings

MOST_PARAMETERS = 30_000
"""Tensors of weights in a model at most: over a thousand layers. Each takes time to make, whatever its size."""


def outline(
    settings: ModelSettings, source_vocabulary: int, target_vocabulary: int, *, most: int = MOST_PARAMETERS
) -> dict[str, nn.Parameter]:
    """The parameters of the model that `settings` would build, by name, tied ones once: shapes and types, no values.

    Raises ConfigError where they are more than `most`, as soon as that is known.
    """
    with torch.device("meta"), _Unfilled(), _at_most(most):
        model = settings.build(source_vocabulary, target_vocabulary)
    return dict(model.named_parameters())


def count_parameters(settings: ModelSettings, source_vocabulary: int, target_vocabulary: int) -> int:
    """Weights of the model that `settings` would build, tied ones once. Raises ConfigError as `outline` does."""
    return sum(parameter.numel() for parameter in outline(settings, source_vocabulary, target_vocabulary).values())


class _Unfilled(TorchFunctionMode):
    """Tensors without values are not drawn or counted up: torch would import half of itself for it, in a second."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (Tensor.normal_, nn.init.normal_):
            return args[0] if args else kwargs["tensor"]
        if func is torch.arange and all(isinstance(bound, int) for bound in args):
            return torch.empty(len(range(*args)), dtype=kwargs.get("dtype") or torch.int64, device="meta")
        return func(*args, **kwargs)


@contextmanager
def _at_most(most: int) -> Iterator[None]:
    """Stop this thread from making a module once there are more parameters; whatever the model, each is registered."""
    thread = threading.get_ident()
    found: dict[int, Tensor] = {}

    def count(module: nn.Module, name: str, parameter: Tensor | None) -> None:
        if parameter is None or threading.get_ident() != thread:
            return
        found[id(parameter)] = parameter
        if len(found) > most:
            raise ConfigError(f"[model] asks for more than {most:,} tensors of weights: lower the number of layers")

    handle = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        handle.remove()
