"""The training curve as a picture, drawn from the journal."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transduce.errors import told
from transduce.training.journal import CURVES, read_journal


def draw_curve(journal: Path, picture: Path, title: str) -> None:
    """Loss on training and validation text, and BLEU and chrF, against updates, as a PNG."""
    # matplotlib takes a second to import: only where a picture is drawn. No pyplot: it keeps global state.
    from matplotlib.figure import Figure

    curves = _columns(read_journal(journal))
    updates, validations = curves["update"], curves["validation"]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    smoothed = "training loss (smoothing and dropout on)"
    axes.plot(updates["update"], updates["loss"], color="0.65", lw=1, label=smoothed)
    at = validations["update"]
    axes.plot(at, validations["loss"], "o-", ms=3, color="tab:blue", label="validation loss")
    axes.set(xlabel="update", ylabel="cross entropy (nats per token)")
    # A name is text: no formula between dollar signs, and no warning for a letter that the font lacks.
    axes.set_title(title, parse_math=False)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    handles, labels = axes.get_legend_handles_labels()
    if any(score is not None for score in validations["bleu"]):
        right = axes.twinx()
        right.plot(at, validations["bleu"], "s-", ms=3, color="tab:red", label="BLEU")
        right.plot(at, validations["chrf"], "^-", ms=3, color="tab:orange", label="chrF")
        right.set(ylabel="BLEU, chrF", ylim=(0, 100))
        more = right.get_legend_handles_labels()
        handles, labels = handles + more[0], labels + more[1]
    # Below: wherever it stood inside, the lines of some run would pass under it.
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    with told(picture), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(picture, dpi=120, metadata={"Software": None})


def _columns(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[Any]]]:
    """For updates and validations, the numbers of each curve in order; None is a score that was not measured."""
    found = {}
    for kind in ("update", "validation"):
        rows = [e for e in events if e["event"] == kind and None not in (e.get("update"), e.get("loss"))]
        found[kind] = {name: [row.get(name) for row in rows] for name in ("update", *CURVES)}
    return found
