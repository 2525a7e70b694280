"""*Expected, then measured*: the report of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transduce.comparison.demonstrations.demonstration import Demonstration
from transduce.comparison.details import checklist, details
from transduce.comparison.document import Detail, Part, Points, Section, Table, write
from transduce.comparison.expected import CHECKLIST, TABLE_1, cell, differences, unlearned
from transduce.comparison.measured import Measured
from transduce.comparison.measures.layers import (
    KERNEL,
    PATH_SIZES,
    REACH,
    SIZES,
    WIDTH,
    LayerCost,
    crossover,
)
from transduce.comparison.measures.scores import time_to
from transduce.comparison.measures.showcase import Shown
from transduce.comparison.plots import picture_of_charts, picture_of_layers, pictures_of

TITLE = "Expected, then measured"

PICTURES = ("forgetting", "parallel")
"""Those of the checklist."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that a report is made from."""

    setting: list[str]
    """What was compared, on what, in sentences."""
    family: list[Measured]
    layers: list[LayerCost]
    sentences: list[Shown]
    demonstrations: list[Demonstration]
    goal: float | None = None
    """The BLEU to which time is told; None for half of what the best one reached."""


def write_report(comparison: Comparison, folder: Path) -> list[Section]:
    """Write report.html, report.md and figures.json; returns the sections, for a terminal."""
    sections = build(comparison)
    write(TITLE, sections, _figures(comparison), folder)
    return sections


def build(comparison: Comparison) -> list[Section]:
    found = [*unlearned(comparison.family), *differences(comparison.family, comparison.layers),
             *(f"{d.title}: {d.measured}" for d in comparison.demonstrations if not d.holds)]  # fmt: skip
    differing: Part = Points(found) if found else "Every measurement came out as expected."
    sections = [
        Section("What was compared", [*comparison.setting, *_members(comparison.family)]),
        Section("Where a measurement says otherwise", [differing]),
    ]
    if comparison.family:
        sections += _of_the_family(comparison)
    if comparison.demonstrations:
        sections.append(Section("Demonstrations", _demonstrations(comparison.demonstrations)))
    return sections


def _members(family: Sequence[Measured]) -> list[Part]:
    """What each is made of and how it learned."""
    rows = []
    for m in family:
        r = m.recipe
        others = ", ".join(f"{name} = {str(value).lower()}" for name, value in r.others.items())
        rows.append([m.label, m.column or "—", r.cell or "—", r.layers, f"{r.width}", others, f"{r.peak_rate:.3g}",
                     r.decay])  # fmt: skip
    head = ["", "in the article", "cell", "layers", "width", "other settings", "peak rate", "decay"]
    return [Table(head, rows, numbers=False)] if rows else []


def _of_the_family(comparison: Comparison) -> list[Section]:
    family = comparison.family
    pictures = pictures_of(family)
    return [
        Section("The checklist", [*checklist(family), *map(pictures.__getitem__, PICTURES), *details(family)]),
        Section("What a layer costs (Table 1)", [*_layers(comparison.layers), picture_of_layers(comparison.layers)]),
        Section("Scores, sizes and speeds", [*_scores(family, comparison.goal), pictures["learning"]]),
        Section("Side by side", _side_by_side(family, comparison.sentences)),
    ]


def _demonstrations(demonstrations: Sequence[Demonstration]) -> list[Part]:
    """Each with its statement, what was measured, the figures, and a picture where there is one."""
    parts: list[Part] = [
        "Single parts of the model, computed by its own layers. ✓ stands where the measurement bears the article out "
        "by the rule that stands with its figures, ≠ where it does not. The words are those of the run in the package."
    ]
    for d in demonstrations:
        mark = "✓" if d.holds else "≠"
        parts.append(Points([f"{mark} {d.title} ({d.section}). The article: {d.says} Measured: {d.measured}"]))
        parts += [picture_of_charts(d.charts, d.title)] if d.charts else []
        parts.append(Detail(f"Figures: {d.title}. ✓ if {d.rule}.", [d.table]))
    return parts


def _layers(costs: Sequence[LayerCost]) -> list[Part]:
    rows = []
    for cost in costs:
        e = TABLE_1[cost.name]
        rows.append([
            cost.name,
            f"{e.formula} → n^{cost.work_n:.2f} · d^{cost.work_d:.2f}",
            f"n^{cost.whole_n:.2f} · d^{cost.whole_d:.2f}",
            f"{e.steps} → {cost.steps_growth} ({cost.steps[0]} to {cost.steps[-1]})",
            f"{e.path} → {cost.path_growth} ({cost.path[0]:.0f} to {cost.path[-1]:.0f})",
        ])  # fmt: skip
    meeting = crossover(costs)
    return [
        f"Work in floating-point operations of the plain equations, fitted over n and d = {', '.join(map(str, SIZES))} "
        f"(the other {WIDTH}): of attention its two products alone, as the paper counts, and beside it the whole layer "
        f"with its projections. Sequential operations: depth of the autograd graph, n = {SIZES[0]} to {SIZES[-1]}. "
        "Longest path: dependent steps through as many layers as it takes until the last position depends on the "
        f"first, in those of one layer for one position, n = {PATH_SIZES[0]} to {PATH_SIZES[-1]}. A kernel has "
        f"{KERNEL} positions, a neighbourhood {2 * REACH + 1}.",
        Table(["layer", "work", "whole layer", "sequential operations", "longest path"], rows, numbers=False),
        f"Attention's products take as much work as a recurrent layer at n = d = {WIDTH}: expected; "
        + (f"measured: from n = {meeting} on." if meeting else f"measured: at no n up to {SIZES[-1]}."),
    ]


def _scores(family: Sequence[Measured], goal: float | None) -> list[Part]:
    best = max((value for m in family for *_, value in m.scores.curve), default=0.0)
    # Half of what the best one reached, in whole points, so that more than one gets there.
    wanted = max(1, round(best / 2)) if goal is None else goal
    tests = list(family[0].scores.tests)
    scores, speeds = [], []
    for m in family:
        s = m.scores
        tokens, seconds = time_to(s, wanted) or (None, None)
        scores.append([
            m.label, f"{s.parameters:,}", f"{s.target_tokens:,}",
            *(f"{s.tests[t]['BLEU']:.1f} / {s.tests[t]['chrF2']:.1f}" for t in tests),
            _number(tokens), _number(seconds),
        ])  # fmt: skip
        speeds.append([
            m.label, _number(s.training_seconds), _number(s.target_tokens / max(s.training_seconds, 1e-9)),
            _number(s.validation_seconds), _number(s.sentences_per_second), _number(s.native_sentences_per_second),
        ])  # fmt: skip
    whence = "half of what the best one reached" if goal is None else "what was asked for"
    return [
        Table(["", "parameters", "target tokens", *(f"{t}: BLEU / chrF" for t in tests),
               f"target tokens to BLEU {wanted:g}", f"training s to BLEU {wanted:g}"], scores),
        f"BLEU and chrF are of whole test sets. BLEU {wanted:g} is {whence} on the validation text, which is "
        f"translated greedily. {'; '.join(family[0].scores.signatures)}.",
        Table(["", "training s", "target tokens learned per s", "validating s", "sentences translated per s",
               "the same by native code"], speeds),
        "Training seconds are those of updates; validations are counted apart. To be compared, all translate by "
        "PyTorch; native code, which “transduce translate” uses for a model that has it, is timed beside that.",
    ]  # fmt: skip


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:,.0f}"


def _side_by_side(family: Sequence[Measured], sentences: Sequence[Shown]) -> list[Part]:
    tables = []
    for i, sentence in enumerate(sentences):
        note = f" ({sentence.note})" if sentence.note else ""
        rows = [[m.label, m.outputs[i], "✓" if m.outputs[i] == sentence.reference else ""] for m in family]
        head = ["", sentence.reference, "equal"]
        tables.append(Table(head, rows, f"{sentence.source}{note}", numbers=False))
    return [tables[0], *(Detail(table.title, [table]) for table in tables[1:])]


def _figures(comparison: Comparison) -> dict[str, Any]:
    """Every figure behind the report."""
    verdicts = {m.name: {c.title: asdict(cell(c, m)) for c in CHECKLIST} for m in comparison.family}
    return {**asdict(comparison), "checklist": verdicts,
            "differences": differences(comparison.family, comparison.layers)}  # fmt: skip
