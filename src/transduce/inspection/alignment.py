"""Attention as a map between units of two texts, and what a translation becomes without a word of its source.

A map shows where the model read, not why it wrote what it wrote; taking a word away shows what hung on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from transduce.errors import InputError
from transduce.inspection.recording import Recording
from transduce.inspection.tokens import By, Unit
from transduce.text.lines import safe
from transduce.translator import Translator

Values = Literal["weights", "norms"]


@dataclass(frozen=True, slots=True)
class AttentionMap:
    """Attention at one place, from each row to each column."""

    place: str
    values: Float[np.ndarray, "h r c"]
    rows: tuple[Unit, ...]
    columns: tuple[Unit, ...]
    reads: tuple[str, ...]
    """What the decoder has read at the row, where a row is one step of it and stands for what is written there;
    otherwise empty."""


@dataclass(frozen=True, slots=True)
class Change:
    """A translation before and after something was taken away."""

    source_before: str
    source_after: str
    before: str
    after: str
    score_before: float
    """Length-penalised log-probability; the two are of different outputs."""
    score_after: float

    @property
    def changed(self) -> bool:
        return self.before != self.after


def attention_map(recording: Recording, place: str, *, by: By = "pieces", values: Values = "weights") -> AttentionMap:
    """Attention of every head at a place: summed over the tokens of a column, mean over those of a row.

    Rows of attention to another stream stand for what is written at the step, rows of self-attention for what is read.
    Raises InputError where nothing of the name attends.
    """
    tensor = recording.tensors.get(f"{place}.{values}")
    axes = recording.axes.get(f"{place}.weights", ())
    if tensor is None or len(axes) != 3 or axes[1] is None or axes[2] is None:
        raise InputError(f"no attention at {place!r}: expected one of {_places(recording)}")
    crossing = axes[1] == "previous" != axes[2]
    rows = recording.streams["expected" if crossing else axes[1]]
    columns = recording.streams[axes[2]]
    reads = tuple(token.piece for token in recording.streams[axes[1]].tokens) if crossing and by == "pieces" else ()
    units = rows.units(by)
    mean = rows.membership(by).T
    mean = mean / mean.sum(1, keepdims=True)
    joined = mean @ tensor.astype(np.float64) @ columns.membership(by)
    first = tuple(reads[unit.tokens[0]].strip() or "␣" for unit in units) if reads else ()
    return AttentionMap(place, joined, units, columns.units(by), first)


def without_word(translator: Translator, sentence: str, start: int, end: int, *, beam: int | None = None) -> Change:
    """Translate a sentence as it is, and without its characters from `start` to `end` (excluded).

    Of two spaces that then meet, one goes too. Raises InputError where nothing is left, or nothing taken away.
    """
    text = safe(sentence)
    rest = text_without(text, start, end)
    options: dict[str, Any] = {} if beam is None else {"beam": beam}
    first, second = translator.translate([text, rest], **options)
    return Change(text, rest, first.text, second.text, first.score, second.score)


def text_without(text: str, start: int, end: int) -> str:
    """A sentence without its characters from `start` to `end` (excluded); of two spaces that then meet, one goes too.

    Raises InputError where nothing is left, or nothing taken away.
    """
    if not 0 <= start < end <= len(text):
        raise InputError(f"characters {start} to {end} of a sentence of {len(text)}: expected a part of it")
    before, after = text[:start], text[end:]
    if before[-1:].isspace() or not before:
        after = after.lstrip()
    rest = (before if after else before.rstrip()) + after
    if not rest.strip():
        raise InputError(f"{text!r} without characters {start} to {end} is empty: leave a word to translate")
    return rest


def _places(recording: Recording) -> str:
    return ", ".join(recording.places) or "none, as this model does not attend"
