"""How much memory training takes; and out of memory: which batch it was, and which setting to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from transduce.data.store import Store
from transduce.devices import memory
from transduce.errors import ConfigError, TrainingError, is_out_of_memory
from transduce.experiment import Experiment
from transduce.models.contract import ModelSettings
from transduce.models.outline import count_parameters

PARAMETER_BYTES = 16
"""Of each parameter: itself, its gradient and Adam's two moments."""


@contextmanager
def out_of_memory_told(store: Store, examples: np.ndarray, experiment: Experiment) -> Iterator[None]:
    """Raise TrainingError for memory that a pass over these examples did not get; let other errors through."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        config = experiment.training
        by_trial = ' (training.memory = "fit" finds one by trial)' if config.memory == "stop" else ""
        raise TrainingError(
            f"out of memory in a batch of {batch_in_words(store, examples, experiment)}; start again with a lower "
            f"training.batch_tokens than {config.batch_tokens:,}{by_trial}: with training.update_tokens as it is, more "
            "and smaller passes add up to the same update. data.filters.max_length bounds single rows"
        ) from None


def batch_in_words(store: Store, examples: np.ndarray, experiment: Experiment) -> str:
    """Its rows and tokens on each side, and the lines that it was made from."""
    sizes = {name: int(store.lengths(name)[examples].max()) + 1 for name in store.streams}
    sides = ", ".join(f"{name} {len(examples)} × {size} tokens" for name, size in sizes.items())
    return f"{sides} ({store.origin(examples, experiment.data.train_names)})"


def refuse_enormous(settings: ModelSettings, vocabularies: tuple[int, int], device: torch.device) -> None:
    """Raise ConfigError for a model whose parameters alone don't fit into memory: before any of them is made."""
    parameters = count_parameters(settings, *vocabularies)
    there = memory(device)
    if there is not None and PARAMETER_BYTES * parameters > there:
        raise ConfigError(
            f"[model] asks for {parameters:,} parameters, which take {PARAMETER_BYTES * parameters / 2**30:,.0f} GiB "
            f"in training; {device} has {there / 2**30:,.0f}. Choose smaller sizes, fewer layers or fewer pieces"
        )


def bytes_per_place(model: ModelSettings, length: int) -> int:
    """What a pass keeps for each place of a batch of sentences of `length` tokens: an estimate. The loss keeps no
    logits."""
    return 4 * model.activation_floats(length)
