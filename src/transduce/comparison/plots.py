"""The report's pictures, as SVG."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from transduce.comparison.demonstrations.demonstration import Lines, Map
from transduce.comparison.document import Picture
from transduce.comparison.measured import Measured
from transduce.comparison.measures.layers import PATH_SIZES, SIZES, LayerCost

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "os^vD<>pXPh*"


def pictures_of(family: Sequence[Measured]) -> dict[str, Picture]:
    """By what they are about: learning, forgetting, parallel."""
    return {
        "learning": draw(_learning(family), "BLEU on the validation text, by what was trained on and by time."),
        "forgetting": draw(
            _forgetting(family), "What the word that was read first is worth later; BLEU by the length of the source."
        ),
        "parallel": draw(
            _parallel(family), "A training pass: dependent steps, and time for the same number of tokens, by length."
        ),
    }


def picture_of_layers(costs: Sequence[LayerCost]) -> Picture:
    lines: list[tuple[str, str, str, Curves]] = [
        ("work", "positions n", "operations", [(c.name, SIZES, c.operations) for c in costs]),
        ("sequential operations", "positions n", "dependent steps", [(c.name, SIZES, c.steps) for c in costs]),
        ("longest path", "positions n", "layers' steps", [(c.name, PATH_SIZES, c.path) for c in costs]),
    ]
    return draw([_panel(*line, log=True) for line in lines], "Table 1, measured, for single layers.")


def picture_of_charts(charts: Sequence[Lines | Map], caption: str) -> Picture:
    panels = [
        _map(c) if isinstance(c, Map) else _panel(c.title, c.x, c.y, c.lines, log=c.log, ticks=c.ticks) for c in charts
    ]
    return draw(panels, caption)


def _map(chart: Map) -> Panel:
    def panel(axes: Axes) -> None:
        for i, group in enumerate(dict.fromkeys(group for group, *_ in chart.points)):
            at = [(x, y) for name, _, x, y in chart.points if name == group]
            axes.plot(*zip(*at, strict=True), MARKERS[i], ms=6, color=f"C{i}", label=group)
        for _, word, x, y in chart.points:
            axes.annotate(word, (x, y), xytext=(5, 5), textcoords="offset points")
        axes.set(title=chart.title, xticks=[], yticks=[])
        axes.margins(0.2)

    return panel


Curves = Sequence[tuple[str, Sequence[float], Sequence[float]]]
Panel = Callable[["Axes"], None]


def _learning(family: Sequence[Measured]) -> list[Panel]:
    by_tokens = [(m.label, [p[0] for p in m.scores.curve], [p[3] for p in m.scores.curve]) for m in family]
    by_time = [(m.label, [p[1] for p in m.scores.curve], [p[3] for p in m.scores.curve]) for m in family]
    return [_panel("", "target tokens", "BLEU", by_tokens), _panel("", "seconds of updates", "BLEU", by_time)]


def _forgetting(family: Sequence[Measured]) -> list[Panel]:
    shares = [(m.label, [(k.nearest + k.farthest) / 2 for k in m.forgetting.kept],
               [k.share for k in m.forgetting.kept]) for m in family]  # fmt: skip
    bleu = [(m.label, [(g.shortest + g.longest) / 2 for g in m.forgetting.groups],
             [g.bleu for g in m.forgetting.groups]) for m in family]  # fmt: skip
    return [
        _panel("", "words read since", "worth of the first word, in means", shares),
        _panel("", "tokens of the source", "BLEU", bleu),
    ]


def _parallel(family: Sequence[Measured]) -> list[Panel]:
    steps = [(m.label, m.parallel.sizes, m.parallel.steps) for m in family]
    seconds = [(m.label, m.parallel.sizes, [1000 * s for s in m.parallel.seconds]) for m in family]
    return [
        _panel("", "tokens n", "dependent steps", steps, log=True),
        _panel("", "tokens n", "ms for a pass", seconds, log=True),
    ]


def _panel(title: str, x: str, y: str, lines: Curves, *, log: bool = False, ticks: Sequence[str] = ()) -> Panel:
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
        if ticks:
            axes.set_xticks(range(len(ticks)), ticks)
        axes.grid(alpha=0.3)

    return draw


def draw(panels: Sequence[Panel], caption: str, *, height: float = 4.4) -> Picture:
    """Panels side by side, `height` inches high, with the legend of the first."""
    # matplotlib takes a second to import. No pyplot: it keeps global state.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Letters stay letters, and the names inside are the same each time and others in each picture.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": caption}):
        figure = Figure(figsize=(5.4 * len(panels), height), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for panel, place in zip(panels, axes, strict=True):
            panel(place)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize="small")
        file = io.StringIO()
        # Whoever opens the page has the letters, if this machine's fonts lack them.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    return Picture(text[text.index("<svg") :], caption)
