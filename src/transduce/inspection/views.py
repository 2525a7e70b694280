"""Numbers that views of the page need and that no tap has: derived here, so that the page only draws."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from transduce.errors import InputError
from transduce.inspection.heads import summaries
from transduce.inspection.layerwise import logit_lens
from transduce.inspection.next_word import probes, steps
from transduce.inspection.packing import packed
from transduce.inspection.place_vectors import place_vectors
from transduce.inspection.reach import reaches
from transduce.inspection.recorder import only_model
from transduce.inspection.recording import Recording
from transduce.inspection.words_in_context import companion
from transduce.translator import Translator


def derived(recording: Recording, translator: Translator | None, *, journal: Path | None = None) -> dict[str, Any]:
    """Ready for JSON; what nothing can be said of is null.

    `heads`: each head summarised. `next`: each step's probabilities. With the translator also `lens`: what each decoder
    layer would write; `positions`: the vectors of places; `reach`: receptive fields. With its run's journal also
    `probes`: probabilities of words over training. `companion`: a sentence to hold beside this one.
    """
    return {
        "heads": [asdict(summary) for summary in summaries(recording)] or None,
        "next": steps(recording),
        "lens": None if translator is None else _lens(recording, translator),
        "positions": None if translator is None else _positions(translator),
        "reach": None if translator is None else _reach(recording, translator),
        "probes": None if translator is None or journal is None else probes(translator.experiment, journal),
        "companion": None if translator is None else companion(recording, translator.experiment),
    }


def _lens(recording: Recording, translator: Translator) -> list[dict[str, Any]] | None:
    try:
        return [asdict(row) for row in logit_lens(translator, recording, top=3)]
    except InputError:
        return None


def _positions(translator: Translator) -> list[dict[str, Any]]:
    model = only_model(translator)
    return [
        {"name": p.name, "kind": p.kind, "vectors": packed(p.vectors), "cosines": packed(p.cosines)}
        for p in place_vectors(model, model.d_model)
    ]


def _reach(recording: Recording, translator: Translator) -> list[dict[str, Any]]:
    return [
        {"place": r.place, "stream": r.stream, "influence": packed(r.influence)} for r in reaches(translator, recording)
    ]
