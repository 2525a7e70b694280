"""Table 3, published and measured: the report of an ablation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transduce.ablation.measured import Difference, Measured, difference, mean, signature, spread, target_tokens
from transduce.ablation.plan import Variant
from transduce.ablation.rows import in_words
from transduce.comparison.document import Part, Picture, Points, Section, Table, write
from transduce.comparison.plots import Panel, draw
from transduce.comparison.setting import machine, named
from transduce.experiment import Experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "Table 3, published and measured"


@dataclass(frozen=True, slots=True)
class Ablation:
    """Everything that a report is made from."""

    setting: Sequence[str]
    """What was trained, on what, in sentences."""
    variants: Sequence[Variant]
    """The base first."""
    rows: Sequence[Measured]
    """The same rows' numbers."""
    seeds: Sequence[int]

    @property
    def perplexity(self) -> list[Difference]:
        """Of each row to the base, in percent of the base's."""
        base = mean(self.rows[0].perplexities)
        percent = [[100 * p / base for p in row.perplexities] for row in self.rows]
        paper = [100 * v.row.published.perplexity / self.variants[0].row.published.perplexity for v in self.variants]
        return [difference(row, percent, (p, paper[0])) for row, p in zip(percent, paper, strict=True)]

    @property
    def bleu(self) -> list[Difference]:
        """Of each row to the base, in points."""
        values, paper = [row.bleus for row in self.rows], [v.row.published.bleu for v in self.variants]
        return [difference(row, values, (p, paper[0])) for row, p in zip(values, paper, strict=True)]


def setting(base: Experiment, variants: Sequence[Variant], seeds: Sequence[int], out: Path) -> list[str]:
    """What was trained, in sentences."""
    training = variants[0].trials[0].experiment.training
    return [
        f"The base is the experiment {named(base)}. Every row reads the same text in the same pieces for "
        f"{training.max_updates:,} updates, which are {target_tokens(variants[0], out):,} target tokens, also the big "
        "one, which the paper trains three times as long.",
        "Heads change with their widths, so that h · d_k stays. Where the experiment gives a learning rate, a wider "
        "model has a lower one, by 1/√d_model, as the paper's formula has it.",
        "Perplexity and BLEU are of the experiment's validation text, whole, as the paper's are of its development "
        "set: the last weights, no average; perplexity by target token, without smoothing. BLEU "
        f"{signature(variants[0], out)}.",
        f"Seeds {', '.join(map(str, seeds))}: the first weights, the order of the text and dropout.",
        f"{machine()}.",
    ]


def write_report(ablation: Ablation, folder: Path) -> list[Section]:
    """Write report.html, report.md and figures.json; returns the sections, for a terminal."""
    sections = build(ablation)
    write(TITLE, sections, _figures(ablation), folder)
    return sections


def build(ablation: Ablation) -> list[Section]:
    return [
        Section("What was trained", [Points(ablation.setting), _scales(ablation)]),
        Section("The table", [*_table(ablation), _picture(ablation)]),
        Section("In words", [_in_words(ablation)]),
    ]


def _scales(ablation: Ablation) -> Part:
    rows = []
    for v, row in zip(ablation.variants, ablation.rows, strict=True):
        millions = v.row.published.millions
        same = f" (as {v.same_as}: not trained again)" if v.same_as else ""
        rows.append([v.row.name, in_words(v.row.changes), in_words(v.changes) + same,
                     "" if millions is None else f"{millions:g} million", f"{row.parameters:,}"])  # fmt: skip
    head = ["row", "the paper changes", "here", "parameters: paper", "here"]
    return Table(head, rows, "Each number keeps the ratio that it has to the base's in the paper.", numbers=False)


def _table(ablation: Ablation) -> list[Part]:
    rows = []
    numbers = zip(ablation.variants, ablation.rows, ablation.perplexity, ablation.bleu, strict=True)
    for i, (v, row, perplexity, bleu) in enumerate(numbers):
        published = v.row.published
        rows.append([
            v.row.name,
            f"{published.perplexity:.2f}", _with_spread(row.perplexities, 2), _change(perplexity, " %") if i else "",
            f"{published.bleu:.1f}", _with_spread(row.bleus, 1), _change(bleu, "") if i else "",
        ])  # fmt: skip
    head = ["row", "perplexity: paper", "here", "from base: paper → here", "BLEU: paper", "here",
            "from base: paper → here"]  # fmt: skip
    marks = (
        "≈ stands where a difference is no larger than those between seeds: the largest of the row's spread, the "
        "base's, and the mean of all rows'. ≠ stands where it is larger, and goes another way than the paper's."
        if len(ablation.seeds) > 1
        else "? stands at every difference: one seed does not tell which of them are chance."
    )
    several = " (between the highest and the lowest seed)" if len(ablation.seeds) > 1 else ""
    return [
        f"Means over the seeds{several}. Perplexity differs from the base in percent of the base's, BLEU in points. "
        "The columns of the paper are of other text, in other pieces, and of another size: compare what a change does, "
        f"not the numbers. {marks}",
        Table(head, rows),
    ]


def _with_spread(values: Sequence[float], digits: int) -> str:
    after = f" ({spread(values):.{digits}f})" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{after}"


def _change(d: Difference, unit: str) -> str:
    mark = f"{d.mark} " if d.mark else ""
    return f"{mark}{_signed(d.published)} → {_signed(d.value)}{unit}"


def _signed(value: float) -> str:
    # A rounded −0.04 would be −0.0.
    return f"{round(value, 1) + 0.0:+.1f}"


def _in_words(ablation: Ablation) -> Part:
    """A line for each row that differs by more than seeds do."""
    if len(ablation.seeds) < 2:
        return "Nothing can be said: train with a second seed."
    lines = []
    for v, perplexity, bleu in zip(ablation.variants, ablation.perplexity, ablation.bleu, strict=True):
        found = [*_difference("perplexity", perplexity, " %"), *_difference("BLEU", bleu, "")]
        if found:
            lines.append(f"{v.row.name} ({in_words(v.changes)}): {'; '.join(found)}")
    rows = len(ablation.rows) - 1
    alike = f"{rows - len(lines)} of {rows} rows differ from the base by no more than seeds do, in either number."
    return Points([*lines, alike])


def _difference(name: str, d: Difference, unit: str) -> list[str]:
    """In words, if it is larger than between seeds."""
    if d.mark not in ("", "≠"):
        return []
    against = " (another way)" if d.mark == "≠" else ""
    return [f"{name} {_signed(d.value)}{unit}, in the paper {_signed(d.published)}{unit}{against}"]


def _picture(ablation: Ablation) -> Picture:
    names = [v.row.name for v in ablation.variants]
    base = ablation.rows[0]
    percent = [[100 * (p / mean(base.perplexities) - 1) for p in row.perplexities] for row in ablation.rows]
    points = [[b - mean(base.bleus) for b in row.bleus] for row in ablation.rows]
    panels = [
        _dots("perplexity, % from the base", names, percent, [d.published for d in ablation.perplexity]),
        _dots("BLEU, points from the base", names, points, [d.published for d in ablation.bleu]),
    ]
    caption = "What each row changes: every seed measured here, and the paper's number at its own scale."
    return draw(panels, caption, height=1.6 + 0.26 * len(names))


def _dots(label: str, names: Sequence[str], values: Sequence[Sequence[float]], published: Sequence[float]) -> Panel:
    def panel(axes: Axes) -> None:
        places = range(len(names))
        every = [(x, y) for y in places for x in values[y]]
        axes.axvline(0, color="0.6", lw=0.8)
        axes.plot(*zip(*every, strict=True), "o", ms=5, color="C0", alpha=0.7, label="measured, each seed")
        axes.plot(published, places, "x", ms=6, color="C1", label="published")
        axes.set_yticks(places, names)
        axes.invert_yaxis()
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)

    return panel


def _figures(ablation: Ablation) -> dict[str, Any]:
    rows = [
        {"row": asdict(v.row), "here": dict(v.changes), "same_as": v.same_as, **asdict(row),
         "perplexity_from_base": asdict(perplexity), "bleu_from_base": asdict(bleu)}
        for v, row, perplexity, bleu in zip(ablation.variants, ablation.rows, ablation.perplexity, ablation.bleu,
                                            strict=True)
    ]  # fmt: skip
    return {"setting": list(ablation.setting), "seeds": list(ablation.seeds), "rows": rows}
