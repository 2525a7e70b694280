"""The report's pictures, as SVG."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from transduce.comparison.document import Picture
from transduce.comparison.measured import Measured
from transduce.comparison.measures.layers import PATH_SIZES, SIZES, LayerCost

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "os^vD<>pXPh*"


def pictures_of(family: Sequence[Measured]) -> dict[str, Picture]:
    """By what they are about: learning, forgetting, parallel."""
    return {
        "learning": _draw(_learning(family), "BLEU on the validation text, by what was trained on and by time."),
        "forgetting": _draw(
            _forgetting(family), "The source's first phrase in the output, and BLEU, by the length of the source."
        ),
        "parallel": _draw(
            _parallel(family), "A training pass: dependent steps, and time for the same number of tokens, by length."
        ),
    }


def picture_of_layers(costs: Sequence[LayerCost]) -> Picture:
    lines: list[tuple[str, str, str, Lines]] = [
        ("work", "positions n", "operations", [(c.name, SIZES, c.operations) for c in costs]),
        ("sequential operations", "positions n", "dependent steps", [(c.name, SIZES, c.steps) for c in costs]),
        ("longest path", "positions n", "layers' steps", [(c.name, PATH_SIZES, c.path) for c in costs]),
    ]
    return _draw([_panel(*line, log=True) for line in lines], "Table 1, measured, for single layers.")


Lines = Sequence[tuple[str, Sequence[float], Sequence[float]]]
Panel = Callable[["Axes"], None]


def _learning(family: Sequence[Measured]) -> list[Panel]:
    by_tokens = [(m.label, [p[0] for p in m.scores.curve], [p[3] for p in m.scores.curve]) for m in family]
    by_time = [(m.label, [p[1] for p in m.scores.curve], [p[3] for p in m.scores.curve]) for m in family]
    return [_panel("", "target tokens", "BLEU", by_tokens), _panel("", "seconds of training", "BLEU", by_time)]


def _forgetting(family: Sequence[Measured]) -> list[Panel]:
    def lines(value: Callable[[Any], float]) -> Lines:
        return [(m.label, [(g.shortest + g.longest) / 2 for g in m.forgetting], [value(g) for g in m.forgetting])
                for m in family]  # fmt: skip

    return [
        _panel("", "tokens of the source", "first phrase kept (%)", lines(lambda g: 100 * g.recall)),
        _panel("", "tokens of the source", "BLEU", lines(lambda g: g.bleu)),
    ]


def _parallel(family: Sequence[Measured]) -> list[Panel]:
    steps = [(m.label, m.parallel.sizes, m.parallel.steps) for m in family]
    seconds = [(m.label, m.parallel.sizes, [1000 * s for s in m.parallel.seconds]) for m in family]
    return [
        _panel("", "tokens n", "dependent steps", steps, log=True),
        _panel("", "tokens n", "ms for a pass", seconds, log=True),
    ]


def _panel(title: str, x: str, y: str, lines: Lines, *, log: bool = False) -> Panel:
    def draw(axes: Axes) -> None:
        for i, (label, xs, ys) in enumerate(lines):
            axes.plot(xs, ys, marker=MARKERS[i % len(MARKERS)], ms=4, lw=1.2, color=f"C{i % 10}", label=label)
        axes.set(title=title, xlabel=x, ylabel=y)
        if log:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            sizes = max((xs for _, xs, _ in lines), key=len)
            axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        else:
            axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)

    return draw


def _draw(panels: Sequence[Panel], caption: str) -> Picture:
    # matplotlib takes a second to import. No pyplot: it keeps global state.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Letters stay letters, and the names inside are the same each time and others in each picture.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": caption}):
        figure = Figure(figsize=(5.4 * len(panels), 4.4), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for panel, place in zip(panels, axes, strict=True):
            panel(place)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize="small")
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    return Picture(text[text.index("<svg") :], caption)
