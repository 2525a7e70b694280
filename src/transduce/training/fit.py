"""`training.memory = "fit"`: the largest batch that memory holds, found by trial before training begins.

A trial makes the heaviest batches that there will be (forward, backward, a step of the optimizer) with a model of its
own. Batches grow from that of a single sentence. On an accelerator one that is too large is an error that is caught.
On a CPU the system would kill the process, so what a batch will take is predicted from those before it, and none is
made for which there is no room. How many tokens an update learns from stays as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from transduce.acceleration.allocator import return_freed_memory
from transduce.data.batching import heaviest
from transduce.data.store import Store
from transduce.devices import Compute
from transduce.errors import ConfigError, is_out_of_memory
from transduce.experiment import Experiment
from transduce.models.contract import Model
from transduce.models.outline import count_parameters
from transduce.tasks import Task
from transduce.training.distributed import World, neighbours
from transduce.training.memory import PARAMETER_BYTES, batch_in_words, bytes_per_place
from transduce.training.optimizer import Adam
from transduce.training.room import Room, forget_most, most_resident, own_room, resident, shared_room

SPARE = 0.1
"""Share of the memory that is left free: for holes between blocks, and for what validation takes."""
LEAST_SPARE = 128 * 2**20
"""Bytes that are left free on a CPU at least: for libraries that are loaded later, and for malloc, which takes memory
64 MiB at a time."""
CAUTION = 1.25
"""How many times the foreseen a batch is taken to need: trials of one size differ by some percent."""
FINE = 16
"""The number found is exact to this part of it."""


def fit(
    sizes: tuple[int, int], task: Task[Any], store: Store, experiment: Experiment, compute: Compute, world: World
) -> tuple[Experiment, str]:
    """The experiment with the largest batches, up to those it has, for which every process has room; and why they
    are not those it has (empty if they are). `sizes` are those of the vocabularies.

    Raises ConfigError where not even the longest sentence alone has room.
    """
    config = experiment.training
    least, most = experiment.data.filters.max_length + 1, config.batch_tokens
    trial = _Trial(sizes, task, store, experiment, compute)
    world.wait()  # until all of them have seen what is free
    found = world.least(_largest(trial.fits, least, most))
    trial.end()
    reason = trial.gauge.reason or "another process has no room for more"
    if not found:
        longest = heaviest(trial.lengths, least)[-1]
        raise ConfigError(
            f"out of memory already in a batch of {batch_in_words(store, longest, experiment)}: {reason}; lower "
            "data.filters.max_length, which bounds a row, or choose a smaller model"
        )
    if found == most:
        return experiment, ""
    tokens = most * config.accumulate
    # Rounded down to an even share of the update, so that it learns from as many tokens as it would have.
    batch_tokens = max(least, tokens // math.ceil(tokens / found))
    changes = {"batch_tokens": batch_tokens, "update_tokens": max(config.update_tokens, most)}
    return experiment.model_copy(update={"training": config.model_copy(update=changes)}), reason


class _Trial:
    """Makes batches as training does, with a model that is thrown away."""

    def __init__(
        self,
        sizes: tuple[int, int],
        task: Task[Any],
        store: Store,
        experiment: Experiment,
        compute: Compute,
    ) -> None:
        self.sizes, self.task, self.store, self.experiment, self.compute = sizes, task, store, experiment, compute
        self.lengths = {name: store.lengths(name) for name in task.streams}
        self.model: Model | None = None
        self.optimizer: Adam | None = None
        parameters = count_parameters(experiment.model, *sizes)
        on_cpu = compute.device.type == "cpu"
        self.gauge = _CpuGauge(experiment, parameters) if on_cpu else _DeviceGauge(compute.device)

    def fits(self, tokens: int) -> bool:
        """Whether batches of so many tokens a side have room."""
        if not self.gauge.allows(tokens):
            return False
        try:
            for examples in heaviest(self.lengths, tokens):
                self._update(examples)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
        else:
            self.gauge.took(tokens)
            return True
        if self.model is not None:
            self.model.zero_grad(set_to_none=True)
        self.gauge.refused(tokens)
        return False

    def _update(self, examples: np.ndarray) -> None:
        """Two passes with a step each: the second has beside it all that an update has, gradients and moments.

        The learning rate is zero, so the weights stay finite.
        """
        if self.model is None or self.optimizer is None:
            self.model = self.experiment.model.build(*self.sizes).to(self.compute.device)
            self.optimizer = Adam(self.model, self.experiment.training)
        for _ in range(2):
            batch = self.task.collate(self.store, examples).to(self.compute.device)
            with self.compute.autocast():
                loss = self.task.loss(self.model, batch, self.experiment.training.label_smoothing)
            loss.backward()
            self.optimizer.step(0.0)

    def end(self) -> None:
        self.model = self.optimizer = None
        self.gauge.end()


def _largest(fits: Callable[[int], bool], least: int, most: int) -> int:
    """The largest number that fits, exact to a part in `FINE`, sought from below; 0 if `least` does not fit."""
    if not fits(least):
        return 0
    low = high = least
    while low < most and fits(high := min(2 * low, most)):
        low = high
    while high - low > max(1, low // FINE):
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


class _DeviceGauge:
    """An accelerator's memory: what asks for too much gets an error."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.reason = device, ""
        if device.type == "cuda":
            torch.cuda.set_per_process_memory_fraction(1 - SPARE, device)

    def allows(self, tokens: int) -> bool:
        return True

    def took(self, tokens: int) -> None:
        pass

    def refused(self, tokens: int) -> None:
        self.reason = f"batches of {tokens:,} did not fit the memory of {self.device}"
        getattr(torch, self.device.type).empty_cache()

    def end(self) -> None:
        getattr(torch, self.device.type).empty_cache()
        if self.device.type == "cuda":
            torch.cuda.set_per_process_memory_fraction(1.0, self.device)


class _CpuGauge:
    """A CPU's memory: what is free is read before the first trial; processes of one machine share it evenly."""

    def __init__(self, experiment: Experiment, parameters: int) -> None:
        self.reason = ""
        return_freed_memory()
        forget_most()
        try:
            self.before = resident()
            room = shared_room()
        except OSError:
            raise ConfigError(
                'training.memory = "fit" on a CPU reads from Linux how much memory there is, and this is another '
                "system: leave it out, and lower training.batch_tokens if need be"
            ) from None
        self.room = Room(room.size // neighbours(), room.bound)
        self.weights = PARAMETER_BYTES * parameters
        self.per_token = bytes_per_place(experiment.model, experiment.data.filters.max_length + 1)
        self.measured: list[tuple[int, int]] = []
        """Tokens, and bytes that they took: of each trial, from the smallest up."""

    def allows(self, tokens: int) -> bool:
        """Whether there is room for a trial, as foreseen from those before it, or from the model's settings."""
        at, held = self.measured[-1] if self.measured else (0, 0)
        more = CAUTION * self._slope() * (tokens - at) + (0 if self.measured else self.weights)
        rooms = [(self.room, held + more)]
        if (own := own_room()) is not None:
            rooms.append((own, more))
        for room, needed in rooms:
            spare = max(SPARE * room.size, LEAST_SPARE)
            if needed > room.size - spare:
                self.reason = (
                    f"batches of {tokens:,} would take about {needed / 2**20:,.0f} MiB more, and {room.bound} leaves "
                    f"{room.size / 2**20:,.0f} MiB, of which {spare / 2**20:,.0f} MiB stay free"
                )
                return False
        return True

    def _slope(self) -> float:
        """Bytes a token: between the first trial and the last, since the first has also loaded libraries."""
        if len(self.measured) < 2:
            return self.per_token
        (first, least), *_, (last, most) = self.measured
        return (most - least) / (last - first)

    def took(self, tokens: int) -> None:
        self.measured.append((tokens, most_resident() - self.before))

    def refused(self, tokens: int) -> None:
        self.reason = f"the system refused the memory for batches of {tokens:,}"

    def end(self) -> None:
        return_freed_memory()
