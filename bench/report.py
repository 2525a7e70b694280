"""What a benchmark found, as a table for the terminal and in Markdown, as JSON and as a plot, with its signature."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.environments import HERE


@dataclass
class Row:
    """A contender's rates, one for each round, and what else is told of it."""

    name: str
    rates: list[float]
    extra: dict[str, str] = field(default_factory=dict)

    def ratios(self, first: Row) -> list[float]:
        """To the first contender, round by round, in rising order."""
        return sorted(mine / theirs for mine, theirs in zip(self.rates, first.rates, strict=True))


@dataclass
class Report:
    """Everything of one run of the benchmark."""

    name: str
    settings: Mapping[str, Any]
    content: dict[str, Any] = field(default_factory=dict)
    tables: list[tuple[str, str, list[Row]]] = field(default_factory=list)
    curves: list[tuple[str, str, str, dict[str, list[tuple[float, float]]]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def table(self, title: str, unit: str, rows: Sequence[Row], note: str = "", first: str = "") -> None:
        """Medians with least and greatest, and ratios to the first row (or the one named), round by round."""
        reference = next((row for row in rows if row.name == first), rows[0])
        extras = list(dict.fromkeys(key for row in rows for key in row.extra))
        head = ["contender", unit, "least – most", "ratio", "least – most", *extras]
        lines = []
        for row in rows:
            ratios = row.ratios(reference)
            lines.append([
                row.name, _number(statistics.median(row.rates)), _range(sorted(row.rates)),
                f"{statistics.median(ratios):.2f}", f"{ratios[0]:.2f} – {ratios[-1]:.2f}",
                *(row.extra.get(key, "") for key in extras),
            ])  # fmt: skip
        self.tables.append((title, unit, list(rows)))
        self.text += [f"## {title}", "", *_markdown(head, lines), ""]
        if note:
            self.text += [note, ""]
        self.content.setdefault("tables", {})[title] = {
            "unit": unit, "note": note, "reference": reference.name,
            "rows": {row.name: {
                "rounds": row.rates, "median": statistics.median(row.rates),
                "ratio": statistics.median(row.ratios(reference)), **row.extra,
            } for row in rows},
        }  # fmt: skip
        print("\n" + title + "\n" + _aligned(head, lines) + (f"\n{note}" if note else ""), flush=True)

    def curve(self, title: str, x: str, y: str, lines: dict[str, list[tuple[float, float]]]) -> None:
        """Lines of points, for the plot."""
        self.curves.append((title, x, y, lines))
        self.content.setdefault("curves", {})[title] = {"x": x, "y": y, "lines": lines}

    def ceilings(self, where: str, rounds: Sequence[Mapping[str, float]]) -> None:
        """What the machine could do, measured between the turns."""
        if not rounds:
            return
        products, library, memory = (sorted(r[key] for r in rounds) for key in ("gflops", "library", "gigabytes"))
        self.say(
            f"Ceilings in the same run ({where}): matrix products {_number(statistics.median(products))} GFLOP/s "
            f"({_range(products)}), by PyTorch alone {_number(statistics.median(library))} ({_range(library)}), memory "
            f"read {_number(statistics.median(memory))} GB/s ({_range(memory)})."
        )
        self.content["ceilings"] = list(rounds)

    def absent(self, reasons: Mapping[str, str]) -> None:
        for name, reason in reasons.items():
            self.say(f"Not measured: {name}: {reason}")
        self.content.setdefault("absent", {}).update(reasons)

    def versions(self, told: Mapping[str, Mapping[str, Any]]) -> None:
        self.content.setdefault("contenders", {}).update(told)

    def say(self, line: str) -> None:
        self.text += [line, ""]
        print(line, flush=True)

    def write(self, folder: Path) -> None:
        """NAME.json, NAME.md and NAME.png."""
        folder.mkdir(parents=True, exist_ok=True)
        signature = _signature()
        self.content = {"signature": signature, "settings": dict(self.settings), **self.content}
        named = [f"{key}: {value}" for key, value in signature.items()]
        named += [f"settings: {', '.join(f'{key}={value}' for key, value in self.settings.items())}"]
        for name, told in self.content.get("contenders", {}).items():
            extra = f", {told['setting']}" if told.get("setting") else ""
            named.append(f"{name}: version {told['version']}, torch {told.get('torch') or 'none'}{extra}")
        text = "\n".join([f"# Benchmark: {self.name}", "", *self.text, "## Signature", "", *(f"- {n}" for n in named)])
        (folder / f"{self.name}.md").write_text(text + "\n", encoding="utf-8")
        (folder / f"{self.name}.json").write_text(
            json.dumps(self.content, ensure_ascii=False, indent=1, default=str) + "\n", encoding="utf-8"
        )
        self._plot(folder / f"{self.name}.png")
        print(f"\nwritten: {folder / self.name}.md, .json and .png", flush=True)

    def _plot(self, path: Path) -> None:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        count = len(self.tables) + len(self.curves)
        if not count:
            return
        heights = [0.8 + 0.35 * len(rows) for _, _, rows in self.tables] + [3.6] * len(self.curves)
        figure, axes = pyplot.subplots(
            count,
            1,
            figsize=(8, sum(heights) + 0.3 * count),
            height_ratios=heights,
            squeeze=False,
            layout="constrained",
        )
        for axis, (title, unit, rows) in zip(axes[:, 0], self.tables, strict=False):
            medians = [statistics.median(row.rates) for row in rows]
            spread = [[m - min(r.rates) for m, r in zip(medians, rows, strict=True)],
                      [max(r.rates) - m for m, r in zip(medians, rows, strict=True)]]  # fmt: skip
            colours = ["#c05020" if row.name.startswith("ours") else "#7890a8" for row in rows]
            axis.barh([row.name for row in rows], medians, xerr=spread, color=colours, ecolor="#303030", capsize=3)
            axis.invert_yaxis()
            axis.set(title=title, xlabel=unit)
        for axis, (title, x, y, lines) in zip(axes[len(self.tables) :, 0], self.curves, strict=False):
            for name, points in lines.items():
                axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)
            axis.set(title=title, xlabel=x, ylabel=y, ylim=(0, None))
            axis.legend()
        figure.savefig(path, dpi=110)
        pyplot.close(figure)


def _signature() -> dict[str, Any]:
    """Where and with what this was measured."""
    from transduce import __version__
    from transduce.devices import hardware

    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "--", "src") else ""),
        "transduce": __version__,
        **hardware(),
        "load when it ended": round(os.getloadavg()[0], 1),
        "command": " ".join(["python -m bench", *sys.argv[1:]]),
    }


def _git(*words: str) -> str:
    try:
        return subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _range(values: Sequence[float]) -> str:
    return f"{_number(values[0])} – {_number(values[-1])}"


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    ruler = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (head, ruler, *lines)]


def _aligned(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in (head, *lines)) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                  for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in (head, *lines)
    )  # fmt: skip
