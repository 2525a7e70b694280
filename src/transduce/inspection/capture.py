"""What the taps of a model show in one forward pass, as arrays whose axes have names.

Nothing here knows a model. Which axis runs along which stream of tokens is found by shortening each stream in turn and
looking what becomes shorter with it; in which direction a stream was read is seen at the embedding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transduce.layers.embedding import Embedding
from transduce.layers.position import LearnedPositions, ScalarPositions, SinusoidalPositions
from transduce.layers.tap import Recorder, record
from transduce.search.decoding import evaluating

Streams = Mapping[str, Sequence[int]]
"""The ids of each stream that goes into a model, by the name that it has in a batch."""
Forward = Callable[[Streams], object]
"""Runs the model once, on a batch of one row."""
Axes = tuple[str | None, ...]
"""Of each axis: the stream it runs along, or head, feature or vocabulary; None where it isn't known."""

POSITIONS = (SinusoidalPositions, LearnedPositions, ScalarPositions)

PER_HEAD = ("queries", "keys", "values", "heads", "weights", "scores")
"""Last parts of the names of taps that have an axis of heads before those of positions."""


@dataclass(frozen=True, slots=True)
class Captured:
    """Tensors by the name of their tap, without the axis of the batch, in the order in which they were heard."""

    tensors: dict[str, np.ndarray]
    axes: dict[str, Axes]


def capture(
    model: nn.Module, forward: Forward, streams: Streams, change: Recorder = lambda _, value: value
) -> Captured:
    """Record one forward pass of the real model, in which `change` may put something else in a tap's place.

    What is heard once for each position is joined along the last axis but one. Positions are in the order of the text
    also where a layer read it from its end.
    """
    heard, orders = _listen(model, forward, streams, change)
    tensors = {name: joined(parts) for name, parts in heard.items()}
    shapes = {name: array.shape for name, array in tensors.items()}
    probes = {stream: _probe(model, forward, streams, stream, change) for stream in streams}
    along = {name: _along(name, shape, streams, probes) for name, shape in shapes.items()}
    for name, axes in along.items():
        turned = tuple(i for i, axis in enumerate(axes) if axis and (axis in orders) != (".backwards." in name))
        tensors[name] = np.ascontiguousarray(np.flip(tensors[name], turned))
    return Captured(tensors, {name: _named(name, axes) for name, axes in along.items()})


def _listen(
    model: nn.Module, forward: Forward, streams: Streams, change: Recorder
) -> tuple[dict[str, list[np.ndarray]], set[str]]:
    """What each tap said, and the streams that the model read from their end.

    Beside `….embedding` stands `….embedding.row`, as it is in the table; `….position` is what was added for the place.
    """
    heard: dict[str, list[np.ndarray]] = {}
    backwards: set[str] = set()
    rows: list[Tensor] = []

    def keep(name: str, value: Tensor) -> None:
        heard.setdefault(name, []).append(value[0].detach().to("cpu", torch.float32, copy=True).numpy())

    def listen(name: str, value: Tensor) -> Tensor:
        value = change(name, value)
        if rows and name.endswith("embedding"):
            keep(f"{name}.row", rows.pop())
        rows.clear()
        keep(name, value)
        return value

    def read(embedding: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        rows[:] = [F.embedding(inputs[0], cast(Tensor, embedding.weight))]
        for stream, ids in streams.items():
            if inputs[0].ndim == 2 and inputs[0][0].tolist() == list(ids)[::-1] != list(ids):
                backwards.add(stream)

    def place(positions: nn.Module, inputs: tuple[Any, ...]) -> None:
        # What it adds to nothing is what it adds; `forward` runs no hooks.
        side = next(reversed(heard), "").rpartition(".")[0]
        keep(f"{side}.position".lstrip("."), positions.forward(torch.zeros_like(inputs[0]), *inputs[1:]))

    hooks = [m.register_forward_pre_hook(read) for m in model.modules() if isinstance(m, Embedding)]
    hooks += [m.register_forward_pre_hook(place) for m in model.modules() if isinstance(m, POSITIONS)]
    try:
        with evaluating(model), torch.inference_mode(), record(listen):
            forward(streams)
    finally:
        for hook in hooks:
            hook.remove()
    return heard, backwards


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """What a tap said, as one array: what is heard once for each position lies along the last axis but one."""
    if len(parts) == 1:
        return parts[0]
    # The source's side of attention is the same at every step of a recurrent decoder.
    if all(part.shape == parts[0].shape and np.array_equal(part, parts[0]) for part in parts) and _long(parts[0]):
        return parts[0]
    return np.concatenate(parts, -2) if parts[0].ndim > 1 else np.stack(parts)


def _long(part: np.ndarray) -> bool:
    return part.ndim > 1 and part.shape[-2] > 1


def _probe(
    model: nn.Module, forward: Forward, streams: Streams, stream: str, change: Recorder
) -> tuple[int, dict[str, tuple[int, ...]]]:
    """The shapes of all taps where one stream is a token shorter, or longer if it is very short; and its length."""
    ids = list(streams[stream])
    changed = ids[1:] if len(ids) > 2 else [ids[0], *ids]
    heard, _ = _listen(model, forward, {**streams, stream: changed}, change)
    return len(changed), {name: joined(parts).shape for name, parts in heard.items()}


def _along(
    name: str,
    shape: tuple[int, ...],
    streams: Streams,
    probes: Mapping[str, tuple[int, Mapping[str, tuple[int, ...]]]],
) -> Axes:
    """Of each axis the stream that it is as long as, and stays as long as when that changes."""
    axes: list[str | None] = [None] * len(shape)
    for stream, (length, shapes) in probes.items():
        other = shapes.get(name, ())
        for i, size in enumerate(shape):
            if len(other) == len(shape) and (size, other[i]) == (len(streams[stream]), length):
                axes[i] = stream
    return tuple(axes)


def _named(name: str, axes: Axes) -> Axes:
    """The axes with names for those that are no stream, as far as the conventions of taps tell."""
    part = name.rsplit(".", 1)[-1]
    found = list(axes)
    if found and any(axes) and found[-1] is None:
        found[-1] = "vocabulary" if part == "logits" else "feature"
    if part in PER_HEAD and len(found) == 3 and found[0] is None and axes[1] is not None:
        found[0] = "head"
    return tuple(found)
