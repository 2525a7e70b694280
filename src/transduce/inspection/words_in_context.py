"""One word in two sentences: one embedding, and a vector for each context."""

from __future__ import annotations

from typing import Any

from transduce.demo.corpus import SHOWCASE
from transduce.experiment import Experiment
from transduce.inspection.layerwise import similarities
from transduce.inspection.recording import Recording


def contexts(first: Recording, second: Recording) -> list[dict[str, Any]]:
    """Each word that stands in both source sentences: where, and how alike its vectors are at each stage.

    [{text, starts, tokens, stages: [{place, cosine}]}], the two of `starts` and `tokens` being of the two sentences. Of
    a word that stands more than once in one of them, the first counts. Ready for JSON.
    """
    places = [_first_places(recording) for recording in (first, second)]
    found = []
    for word, start in sorted(places[0].items(), key=lambda item: item[1]):
        if word in places[1]:
            starts = (start, places[1][word])
            stages = similarities(first, second, word, starts=starts)
            found.append(
                {
                    "text": word,
                    "starts": list(starts),
                    "tokens": [_tokens(r, at, word) for r, at in zip((first, second), starts, strict=True)],
                    "stages": [{"place": stage.place, "cosine": stage.cosine} for stage in stages],
                }
            )
    return found


def companion(recording: Recording, experiment: Experiment) -> str | None:
    """The sentence of the demo that shares most words with the recorded one, for a run that learned from its corpus."""
    builtin = any((data.builtin or "").startswith("demo") for data in experiment.data.train)
    words = set(_first_places(recording))
    others = [item.source for item in SHOWCASE if item.source != recording.source] if builtin else []
    shared = {text: len(words & set(text)) for text in others}
    best = max(shared, key=lambda text: shared[text], default=None)
    return best if best is not None and shared[best] else None


def _first_places(recording: Recording) -> dict[str, int]:
    table = recording.streams.get("source")
    return {} if table is None else {table.text[a:b]: a for a, b in reversed(table.words)}


def _tokens(recording: Recording, start: int, word: str) -> list[int]:
    tokens = recording.streams["source"].tokens
    return [i for i, token in enumerate(tokens) if token.start < start + len(word) and start < token.end]
