"""The stages of a sentence's way through a model, in the order in which its taps were heard.

No model is known by name: what a stage is follows from the names of its taps, and what was added to what from numbers.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import numpy as np

from transduce.inspection.recording import Recording

_TAP = re.compile(r"(?:(?P<side>encoder|decoder|recurrent|head)\.)?(?:(?P<layer>\d+)\.)?(?P<rest>.+)")
_KINDS = (
    (r"embedding(\.row)?", "embedding"),
    (r"position|input", "input"),
    (r"self\.residual\..*|cross\.residual\..*|feed_forward\.residual\..*", "residual"),
    (r"self\..*", "self"),
    (r"cross\..*", "cross"),
    (r"feed_forward\..*", "feed_forward"),
    (r"((forwards|backwards)\.)?(\w+_gate|new|cell|hidden)", "recurrent"),
    (r"values|gate|narrowed|convolution", "convolution"),
    (r"context|first|start", "context"),
    (r"logits", "probabilities"),
    (r"hop\..*|question", "memory"),
    (r"output", "output"),
)
_BESIDE = re.compile(r".*\.(norms|projected|bias|gain|shift|standard)")
"""Tensors that stand beside those of the taps, and belong to the stage of the tap of the same place."""


def walk(recording: Recording) -> dict[str, Any]:
    """{"stages": [{kind, side, layer, part, stream, result, tensors, …}], "tensors": [{name, least, mean, greatest}]}.

    `result` is what the stage hands on, `tensors` all of it, `stream` along which `result` runs (null: none). An
    embedding has its `scale`, what its row of the table was multiplied by; self-attention is `masked` where nothing
    looks ahead; an input and a residual say in `before` and `added` which two tensors make the third, `sum`, where that
    is what the numbers say. `least`, `mean` and `greatest` are of the finite numbers, null where there is none.
    """
    taps = [name for name in recording.tensors if not _BESIDE.fullmatch(name)]
    stages: list[dict[str, Any]] = []
    for key, names in groupby(taps, _key):
        stage = _stage(recording, key, list(names))
        before = stages[-1] if stages else None
        # A layer hands on what its last part made: that is no stage of its own.
        if before and len(stage["tensors"]) == 1 and _same(recording, stage["result"], before["result"]):
            continue
        stages.append(stage | _details(recording, stage, stages))
    return {"stages": stages, "tensors": [_summary(name, tensor) for name, tensor in recording.tensors.items()]}


def _summary(name: str, tensor: np.ndarray) -> dict[str, Any]:
    finite = tensor[np.isfinite(tensor)].astype(np.float64)
    found = [float(of(finite)) if finite.size else None for of in (np.min, np.mean, np.max)]
    return {"name": name, **dict(zip(("least", "mean", "greatest"), found, strict=True))}


def _key(name: str) -> tuple[str, str, str | None, str]:
    """Kind, side, layer, and the part of the layer."""
    match = _TAP.fullmatch(name)
    side, layer, rest = (match["side"] or "", match["layer"], match["rest"]) if match else ("", None, name)
    kind = next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, rest)), "other")
    part = rest.split(".")[0] if kind in ("residual", "recurrent") and "." in rest else ""
    return kind, side, layer, part


def _stage(recording: Recording, key: tuple[str, str, str | None, str], names: list[str]) -> dict[str, Any]:
    kind, side, layer, part = key
    result = names[-1]
    beside = [
        name for name in recording.tensors if _BESIDE.fullmatch(name) and name.rpartition(".")[0] in _bases(names)
    ]
    axes = recording.axes[result]
    stream = axes[-2] if len(axes) > 1 and axes[-2] in recording.streams else None
    return {
        "kind": kind,
        "side": side,
        "layer": None if layer is None else int(layer),
        "part": part,
        "stream": stream,
        "result": result,
        "tensors": [*names, *beside],
        "place": names[0].rpartition(".")[0] if kind in ("self", "cross") else None,
    }


def _bases(names: list[str]) -> set[str]:
    return {name.rpartition(".")[0] for name in names}


def _details(recording: Recording, stage: dict[str, Any], before: list[dict[str, Any]]) -> dict[str, Any]:
    """What the numbers say of a stage: which two tensors were added, and by how much was multiplied."""
    if stage["kind"] == "embedding":
        return {"scale": _scale(recording, stage["result"])}
    names = stage["tensors"]
    if stage["kind"] == "self":
        weights = recording.tensors[f"{stage['place']}.weights"]
        return {"masked": weights.shape[-1] > 1 and not np.triu(weights, 1).any()}
    if stage["kind"] == "input" and len(names) > 1 and before:
        return _addition(recording, [before[-1]["result"]], names[0], stage["result"])
    if stage["kind"] == "residual":
        earlier = [s["result"] for s in before[:-1][::-1]]
        total = next(name for name in names if name.endswith(".sum"))
        return _addition(recording, earlier, before[-1]["result"], total)
    return {}


def _scale(recording: Recording, name: str) -> float | None:
    """What each row of the table was multiplied by, if it was one number."""
    row = recording.tensors.get(f"{name}.row")
    if row is None:
        return None
    made = recording.tensors[name]
    largest = np.unravel_index(int(np.abs(row).argmax()), row.shape)
    scale = float(made[largest]) / float(row[largest]) if row[largest] else 1.0
    return scale if np.allclose(row.astype(np.float64) * scale, made, rtol=1e-4, atol=1e-6) else None


def _addition(recording: Recording, candidates: list[str], added: str, total: str) -> dict[str, Any]:
    """{before, added, sum} for the first candidate for which before + added = sum; else only what was added."""
    tensors = recording.tensors
    for before in candidates:
        if tensors[before].shape == tensors[added].shape == tensors[total].shape and np.allclose(
            tensors[before].astype(np.float64) + tensors[added], tensors[total], rtol=1e-4, atol=1e-4
        ):
            return {"before": before, "added": added, "sum": total}
    return {"before": None, "added": added, "sum": None}


def _same(recording: Recording, first: str, second: str) -> bool:
    return np.array_equal(recording.tensors[first], recording.tensors[second])
