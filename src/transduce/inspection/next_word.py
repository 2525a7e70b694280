"""Next word: the probabilities of the whole vocabulary at each step, and those of some words over training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from transduce.errors import RunError
from transduce.experiment import Experiment
from transduce.inspection.packing import packed
from transduce.inspection.predictions import log_probabilities, predictions
from transduce.inspection.recording import Recording
from transduce.training.journal import read_journal

TOP = 12
"""Likeliest pieces of a step that are listed."""
_POINTS = 90
"""Of the curve of probabilities by rank, at most."""


def steps(recording: Recording) -> dict[str, Any]:
    """{"total", "steps": [{position, reads, writes, written, log_probability, rank, entropy, best, curve}], …}.

    `total` is the log-probability of all that is written; `curve` has [rank, probability] of the sorted distribution;
    beside them `probabilities` [t v] of every piece. Ready for JSON.
    """
    probabilities = np.exp(log_probabilities(recording))
    ranks = _ranks(probabilities.shape[1])
    found = []
    for step in predictions(recording, top=TOP):
        row = np.sort(probabilities[step.position])[::-1]
        written = recording.streams["expected"].tokens[step.position].id
        curve = [[rank, float(row[rank - 1])] for rank in ranks]
        found.append(asdict(step) | {"written": written, "curve": curve})
    total = float(sum(step["log_probability"] for step in found))
    return {"total": total, "steps": found, "probabilities": packed(probabilities)}


def probes(experiment: Experiment, journal: Path) -> list[dict[str, Any]]:
    """[{source, prefix, words, points: [{update, values}]}]: what a journal says of the words that were followed.

    Empty where none was, or the journal is gone or no longer what training wrote. Ready for JSON.
    """
    try:
        events = read_journal(journal)
    except (OSError, RunError):
        return []
    found = []
    for i, probe in enumerate(experiment.validation.probes):
        words = [word.strip() for word in probe.words]
        points = [_point(event, i, words) for event in events if event["event"] == "validation"]
        kept = [point for point in points if point is not None]
        if kept:
            found.append({"source": probe.source, "prefix": probe.prefix, "words": words, "points": kept})
    return found


def _point(event: Mapping[str, Any], probe: int, words: Sequence[str]) -> dict[str, Any] | None:
    values = event.get("probes")
    row = values[probe] if isinstance(values, list) and len(values) > probe else None
    numbers = [row.get(word) for word in words] if isinstance(row, dict) else [None]
    if not all(isinstance(number, float | int) for number in (*numbers, event.get("update"))):
        return None
    return {"update": event["update"], "values": numbers}


def _ranks(size: int) -> list[int]:
    """From 1 to `size`: the first each by itself, then ever further apart."""
    return [int(rank) for rank in np.unique(np.geomspace(1, size, _POINTS).round())]
