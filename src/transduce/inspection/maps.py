"""The maps of attention: every place by pieces, characters and words, as weights and as norms."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

import numpy as np

from transduce.inspection.alignment import AttentionMap, Values, attention_map
from transduce.inspection.packing import packed
from transduce.inspection.recording import Recording
from transduce.inspection.tokens import By


def maps(recording: Recording) -> dict[str, Any] | None:
    """{"maps": [{place, unit, kind, rows, columns, reads, values, mean}]}; `mean` is over the heads."""
    found = [
        _map(recording, attention_map(recording, place, by=by, values=kind), by, kind)
        for place in recording.places
        for by in get_args(By)
        for kind in get_args(Values)
        if f"{place}.{kind}" in recording.tensors
    ]
    return {"maps": found} if found else None


def _map(recording: Recording, shown: AttentionMap, by: By, kind: Values) -> dict[str, Any]:
    crossing = recording.axes[f"{shown.place}.weights"]
    # Where every token is a row and a column of its own, the numbers are those of the tensor itself.
    tensor = recording.tensors[f"{shown.place}.{kind}"]
    same = tensor.shape == shown.values.shape and np.array_equal(tensor, shown.values.astype(np.float32))
    return {
        "place": shown.place,
        "unit": by,
        "kind": kind,
        "streams": list(crossing[1:]),
        "rows": [asdict(unit) for unit in shown.rows],
        "columns": [asdict(unit) for unit in shown.columns],
        "reads": list(shown.reads),
        "tensor": f"{shown.place}.{kind}" if same else None,
        "values": None if same else packed(shown.values),
        "mean": packed(shown.values.mean(0)),
    }
