"""Attention as a picture, by matplotlib: one head with its numbers, a layer's heads, or all heads at a glance."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal
from unicodedata import east_asian_width

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transduce.errors import InputError
from transduce.inspection.alignment import AttentionMap, Values, attention_map
from transduce.inspection.fonts import drawable, families_for
from transduce.inspection.recording import Recording
from transduce.inspection.tokens import By

CAUTION = "Attention shows where the model read, not why it wrote what it wrote."
_COLOURS = "Blues"
_READABLE = 30
"""Rows or columns up to which numbers fit into the cells."""
_ABREAST, _LARGEST, _SMALLEST = 4, 4.5, 3.5
"""Heads in a row where only one place is shown; inches of a map of many; points of a label that can be read."""
_MOST, _LONGEST = 100, 24
"""Labels on an axis, which take most of the time; inches of a map that stands alone."""


def draw(
    recording: Recording,
    *,
    place: str | None = None,
    head: int | None = None,
    by: By = "pieces",
    values: Values = "weights",
    form: Literal["png", "svg"] = "png",
) -> bytes:
    """A picture of one head (from 0) at a place, of all heads at a place, or of all heads of all places.

    Raises InputError where there is no such place or head, or where nothing in the model attends.
    """
    if place is None:
        if head is not None:
            raise InputError(
                f"head {head} of which layer? Name one of {', '.join(recording.places) or 'a model with heads'}"
            )
        maps = [attention_map(recording, p, by=by, values=values) for p in recording.places]
        if not maps:
            raise InputError(
                f"a {recording.model} model has no attention to draw: save its numbers (.npz), or the page (.html)"
            )
    else:
        maps = [attention_map(recording, place, by=by, values=values)]
    heads = len(maps[0].values)
    if head is not None and not 0 <= head < heads:
        raise InputError(f"head {head} of {place}: expected 0 to {heads - 1}")
    labels = [text for m in maps for text in _row_labels(m) + _column_labels(m)]
    # As outlines, a picture shows the same glyphs where these fonts are not installed.
    settings: dict[Any, Any] = {
        "font.family": families_for([recording.source, recording.translation, *labels]),
        "svg.fonttype": "path",
        "svg.hashsalt": "transduce",
    }
    with rc_context(settings):
        if head is not None:
            figure = _one(maps[0], head)
        else:
            figure = _grid(maps, across=heads if place is None else min(heads, _ABREAST))
        _title(figure, recording)
        buffer = io.BytesIO()
        metadata = {"Software": None} if form == "png" else {"Date": None, "Creator": None}
        figure.savefig(buffer, format=form, dpi=150, metadata=metadata)
    return buffer.getvalue()


def _one(shown: AttentionMap, head: int) -> Figure:
    rows, columns = len(shown.rows), len(shown.columns)
    numbers = max(rows, columns) <= _READABLE
    cell = 0.5 if numbers else min(0.16, _LONGEST / max(rows, columns))
    figure = Figure(figsize=(3 + cell * columns, 2.2 + cell * rows), layout="constrained")
    axes = figure.subplots()
    image = _heat(axes, shown, head, size=10 if numbers else 8)
    if numbers:
        _write_numbers(axes, shown, head)
    axes.set_title(f"{shown.place}, head {head}", fontsize=11, loc="left")
    figure.colorbar(image, ax=axes, shrink=0.8, label="weight" if _sums_to_one(shown) else "norm")
    return figure


def _grid(maps: Sequence[AttentionMap], *, across: int) -> Figure:
    """Every head of each place, `across` of them in a row. Long sentences have smaller cells, not larger pictures."""
    cells = [(shown, head) for shown in maps for head in range(len(shown.values))]
    down, wide = max(len(m.rows) for m in maps), max(len(m.columns) for m in maps)
    width, height = (min(max(1.5, 0.22 * count), _LARGEST) for count in (wide, down))
    size = min(7.0, 50 * min(width / wide, height / down))
    longest = max(len(text) for m in maps for text in _row_labels(m) + _column_labels(m))
    room = 0.009 * size * longest
    rows = -(-len(cells) // across)
    figure = Figure(
        figsize=(across * (width + 0.1) + room + 0.2, rows * (height + room + 0.3) + 0.7), layout="constrained"
    )
    for i, axes in enumerate(figure.subplots(rows, across, squeeze=False).flat):
        if i >= len(cells):
            axes.set_axis_off()
            continue
        shown, head = cells[i]
        _heat(axes, shown, head, size=size if size >= _SMALLEST else None, rows=i % across == 0)
        axes.set_title(f"{shown.place}, head {head}", fontsize=8, loc="left")
    return figure


def _heat(axes: Axes, shown: AttentionMap, head: int, *, size: float | None, rows: bool = True) -> Any:
    """The map of one head; its labels `size` points high, or none."""
    axes.tick_params(length=0)
    axes.set(xticks=[], yticks=[])
    if size is not None:
        axes.set_xticks(*_ticks(_column_labels(shown)), fontsize=size)
        for label in axes.get_xticklabels():
            label.set_rotation(90 if len(label.get_text()) > 2 else 0)
    if size is not None and rows:
        axes.set_yticks(*_ticks(_row_labels(shown)), fontsize=size)
    return axes.imshow(shown.values[head], cmap=_COLOURS, vmin=0, vmax=_top(shown, head), aspect="auto")


def _ticks(labels: Sequence[str]) -> tuple[range, list[str]]:
    """Places and labels; of very many, every second or third and so on."""
    places = range(0, len(labels), -(-len(labels) // _MOST))
    return places, [drawable(labels[i]) for i in places]


def _write_numbers(axes: Axes, shown: AttentionMap, head: int) -> None:
    for (y, x), value in np.ndenumerate(shown.values[head]):
        colour = "white" if value > 0.6 * _top(shown, head) else "black"
        axes.text(x, y, f"{value:.2f}" if value else "", ha="center", va="center", fontsize=8, color=colour)


def _top(shown: AttentionMap, head: int) -> float:
    """What the darkest colour stands for."""
    return 1.0 if _sums_to_one(shown) else float(shown.values[head].max()) or 1.0


def _row_labels(shown: AttentionMap) -> list[str]:
    """What is read and written at a step of the decoder, or just the token."""
    labels = [unit.label for unit in shown.rows]
    return [f"{read} → {label}" for read, label in zip(shown.reads, labels, strict=True)] if shown.reads else labels


def _column_labels(shown: AttentionMap) -> list[str]:
    return [unit.label for unit in shown.columns]


def _sums_to_one(shown: AttentionMap) -> bool:
    return bool(np.allclose(shown.values.sum(-1), 1.0, atol=1e-4))


def _title(figure: Figure, recording: Recording) -> None:
    # About nine letters of this size, or half as many Han characters, go into an inch.
    room = round(4.5 * figure.get_figwidth()) - 2
    texts = (_shortened(drawable(text), room) for text in (recording.source, recording.translation) if text)
    figure.suptitle(" → ".join(texts), fontsize=12)
    figure.supxlabel(CAUTION, fontsize=8, color="0.4")


def _shortened(text: str, room: int) -> str:
    """The beginning of a text that takes as much room as so many letters."""
    widths = accumulate(2 if east_asian_width(c) in "WF" else 1 for c in text)
    fitting = sum(width <= room for width in widths)
    return text if fitting == len(text) else f"{text[:fitting]}…"
