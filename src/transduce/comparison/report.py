"""*Expected, then measured*: the report of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transduce.comparison.demonstrations.demonstration import Demonstration
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
        Section("What was compared", comparison.setting),
        Section("Where a measurement says otherwise", [differing]),
    ]
    if comparison.family:
        sections += _of_the_family(comparison)
    if comparison.demonstrations:
        sections.append(Section("Demonstrations", _demonstrations(comparison.demonstrations)))
    return sections


def _of_the_family(comparison: Comparison) -> list[Section]:
    family = comparison.family
    pictures = pictures_of(family)
    return [
        Section("The checklist", [*_checklist(family), *map(pictures.__getitem__, PICTURES), *_details(family)]),
        Section("What a layer costs (Table 1)", [*_layers(comparison.layers), picture_of_layers(comparison.layers)]),
        Section("Scores, sizes and speeds", [*_scores(family), pictures["learning"]]),
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


def _checklist(family: Sequence[Measured]) -> list[Part]:
    rows = []
    for m in family:
        row = [m.label]
        for criterion in CHECKLIST:
            c = cell(criterion, m)
            differs = "≠ " if c.contradicts else ""
            row.append(f"{differs}{c.expected} → {c.found.mark} {c.found.figure}".rstrip())
        rows.append(row)
    return [
        "Expected → measured; ✓ has it, ✗ has it not, — nothing is expected or can be measured. "
        "≠ stands where the two differ.",
        Table(["", *(criterion.title for criterion in CHECKLIST)], rows, numbers=False),
        Detail("How each verdict follows from its figure",
               [Table(["", "rule"], [[c.title, c.rule] for c in CHECKLIST], numbers=False)]),
    ]  # fmt: skip


def _details(family: Sequence[Measured]) -> list[Part]:
    orders = [(m.label, m.order) for m in family]
    order = [[label, f"{o.sentences}", f"{o.unchanged_reversed:.1%}", f"{o.unchanged_shuffled:.1%}", f"{o.effect:.4f}"]
             for label, o in orders]  # fmt: skip
    lengths = [[m.label, f"{m.lengths.mean_source:.1f}", f"{m.lengths.mean_output:.1f}",
                f"{m.lengths.longer_references}", _share(m.lengths.longer_outputs), f"{m.lengths.cut_references:.1%}"]
               for m in family]  # fmt: skip
    groups = [[m.label, *(f"{g.recall:.0%} / {g.bleu:.1f}" for g in m.forgetting)] for m in family]
    head = [f"{g.shortest}–{g.longest} tokens ({g.sentences})" for g in family[0].forgetting]
    links = [[m.label, f"{m.alignment.error:.3f}", f"{m.alignment.diagonal:.3f}"] for m in family
             if m.alignment is not None]  # fmt: skip
    steps = [[m.label, *map(str, m.parallel.steps), m.parallel.growth] for m in family
             if m.parallel.sizes == family[-1].parallel.sizes]  # fmt: skip
    sizes = family[-1].parallel.sizes
    seconds = [[m.label, *(f"{1000 * s:.1f}" for s in m.parallel.seconds)] for m in family
               if m.parallel.sizes == sizes]  # fmt: skip
    found: list[Part] = [
        Detail("Word order", [Table(["", "sentences", "same when reversed", "same when shuffled",
                                     "mean |Δ log p| of the reference, nats"], order)]),
        Detail("Lengths", [Table(["", "mean source", "mean output", "references longer than their source",
                                  "of these, output longer too", "references cut"], lengths)]),
        Detail("Length of the source: first phrase kept / BLEU", [Table(["", *head], groups)]),
        Detail("Dependent steps and milliseconds of a training pass by length",
               [Table(["steps", *map(str, sizes), "growth"], steps), Table(["ms", *map(str, sizes)], seconds)]),
    ]  # fmt: skip
    if links:
        found.append(Detail("Alignment error rate", [Table(["", "cross-attention", "diagonal"], links)]))
    contexts = [(m.label, m.context) for m in family if m.context is not None]
    if contexts:
        senses = list(contexts[0][1].by_sense)
        blind = f"{contexts[0][1].blind:.0%} of {contexts[0][1].sentences} sentences for one fixed translation"
        rows = [[sense, *("{}/{}".format(*c.by_sense[sense]) for _, c in contexts)] for sense in senses]
        table = Table(["水 is here", *(label for label, _ in contexts)], rows)
        found.append(Detail(f"水 in context: right of all, by sense ({blind})", [table]))
    return found


def _share(value: float | None) -> str:
    return "—" if value is None else f"{value:.0%}"


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


def _scores(family: Sequence[Measured]) -> list[Part]:
    best = max((value for m in family for *_, value in m.scores.curve), default=0.0)
    # Half of what the best one reached, in whole points, so that more than one gets there.
    goal = max(1, round(best / 2))
    tests = list(family[0].scores.tests)
    head = ["", "parameters", "target tokens", "training s", "tokens/s", *(f"{t}: BLEU / chrF" for t in tests),
            f"to BLEU {goal}: tokens / s", "sentences/s"]  # fmt: skip
    rows = []
    for m in family:
        s = m.scores
        reached = time_to(s, goal)
        rows.append([
            m.label, f"{s.parameters:,}", f"{s.target_tokens:,}", f"{s.training_seconds:.0f}",
            f"{s.target_tokens / max(s.training_seconds, 1e-9):,.0f}",
            *(f"{s.tests[t]['BLEU']:.1f} / {s.tests[t]['chrF2']:.1f}" for t in tests),
            "—" if reached is None else f"{reached[0]:,} / {reached[1]:.0f}",
            f"{s.sentences_per_second:.0f}",
        ])  # fmt: skip
    signatures = "; ".join(family[0].scores.signatures)
    return [
        Table(head, rows),
        f"Training seconds include validation. BLEU {goal} is half of what the best one reached on the validation "
        f"text, where it is translated greedily. {signatures}.",
    ]


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
