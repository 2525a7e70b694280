"""A recording as the page takes it: JSON, with every number that a view needs worked out here.

The page only draws. What it shows is either a tensor of the recording or stands under `views`, so that each number can
be held against the recording.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transduce.inspection.maps import maps
from transduce.inspection.packing import packed
from transduce.inspection.recording import Recording
from transduce.inspection.scores import scores
from transduce.inspection.views import derived
from transduce.inspection.walk import walk
from transduce.translator import Translator

FORMAT = 1
"""Of the payload; the page refuses others."""


def payload(
    recording: Recording, translator: Translator | None = None, *, journal: Path | None = None
) -> dict[str, Any]:
    """{"format", "notes", "tensors": {name: {"shape", "data"}}, "views": {name: what that view needs}}, JSON-ready.

    `data` is little-endian float32 in base64, in row-major order. Without the translator that was recorded, views that
    ask the model again (what a layer would write, receptive fields) have nothing; `journal` is that of its run.
    """
    return {
        "format": FORMAT,
        "notes": recording.notes(),
        "tensors": {name: packed(tensor) for name, tensor in recording.tensors.items()},
        "views": {
            "walk": walk(recording),
            "attention": maps(recording),
            "query": scores(recording),
            **derived(recording, translator, journal=journal),
        },
    }
