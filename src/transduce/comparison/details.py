"""The checklist of a report, and the figures behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transduce.comparison.document import Detail, Part, Table
from transduce.comparison.expected import CHECKLIST, cell
from transduce.comparison.measured import Measured
from transduce.comparison.measures.forgetting import DISTANCES, group_of
from transduce.comparison.measures.parallel import Parallel


def checklist(family: Sequence[Measured]) -> list[Part]:
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


def details(family: Sequence[Measured]) -> list[Part]:
    """A table for each line of the checklist, closed at first."""
    return [_order(family), _lengths(family), *_forgetting(family), *_alignment(family), _parallel(family),
            *_context(family)]  # fmt: skip


def _order(family: Sequence[Measured]) -> Part:
    head = ["", "sentences", "same when reversed", "same when shuffled", "mean |Δ log p| of the reference, nats"]
    orders = [(m.label, m.order) for m in family]
    rows = [[label, f"{o.sentences}", f"{o.unchanged_reversed:.1%}", f"{o.unchanged_shuffled:.1%}", f"{o.effect:.4f}"]
            for label, o in orders]  # fmt: skip
    return Detail("Word order", [Table(head, rows)])


def _lengths(family: Sequence[Measured]) -> Part:
    head = ["", "mean source", "mean output", "references longer than their source", "of these, output longer too",
            "references cut"]  # fmt: skip
    rows = [[m.label, f"{m.lengths.mean_source:.1f}", f"{m.lengths.mean_output:.1f}", f"{m.lengths.longer_references}",
             _share(m.lengths.longer_outputs), f"{m.lengths.cut_references:.1%}"] for m in family]  # fmt: skip
    return Detail("Lengths", [Table(head, rows)])


def _forgetting(family: Sequence[Measured]) -> list[Part]:
    names = [f"{a}–{b}" if a < b else f"{b}" for a, b in zip([0, *(d + 1 for d in DISTANCES)], DISTANCES, strict=False)]
    names.append(f"over {DISTANCES[-1]}")
    rows = []
    for m in family:
        by_group = {group_of(k.nearest): f"{k.share:.2f} ({k.sentences})" for k in m.forgetting.kept}
        rows.append([m.label, *(by_group.get(i, "—") for i in range(len(names)))])
    title = (
        "By the words read since (sentences); a word is worth 1 on average. Networks of one output for each input have "
        "little to say of the first word at far places, whatever they remember: compare them with one another."
    )
    shares = Table(["", *names], rows, title)
    groups = family[0].forgetting.groups
    head = ["BLEU", *(f"{g.shortest}–{g.longest} tokens ({g.sentences})" for g in groups)]
    bleu = Table(head, [[m.label, *(f"{g.bleu:.1f}" for g in m.forgetting.groups)] for m in family])
    return [
        Detail("What the word that was read first is worth later", [shares]),
        Detail("BLEU by length of the source (sentences)", [bleu]),
    ]


def _alignment(family: Sequence[Measured]) -> list[Part]:
    found = [(m.label, m.alignment) for m in family if m.alignment is not None]
    if not found:
        return []
    head = ["", "what changes most", "attended to most", "diagonal", "sentences"]
    rows = [[label, f"{a.error:.3f}", "—" if a.attention is None else f"{a.attention:.3f}", f"{a.diagonal:.3f}",
             f"{a.sentences}"] for label, a in found]  # fmt: skip
    return [Detail("Alignment error rate, by what a written token is linked to", [Table(head, rows)])]


def _parallel(family: Sequence[Measured]) -> Part:
    sizes = sorted({n for m in family for n in m.parallel.sizes})

    def cells(p: Parallel, values: Sequence[float], form: Callable[[float], str]) -> list[str]:
        by_size = dict(zip(p.sizes, values, strict=True))
        return [form(by_size[n]) if n in by_size else "—" for n in sizes]

    pairs = [(m.label, m.parallel) for m in family]
    steps = [[label, *cells(p, p.steps, str), p.growth] for label, p in pairs]
    times = [[label, *cells(p, p.seconds, lambda s: f"{1000 * s:.1f}")] for label, p in pairs]
    tables = [Table(["steps", *map(str, sizes), "growth"], steps), Table(["ms", *map(str, sizes)], times)]
    return Detail("Dependent steps and milliseconds of a training pass by length", tables)


def _context(family: Sequence[Measured]) -> list[Part]:
    contexts = [(m.label, m.context) for m in family if m.context is not None]
    if not contexts:
        return []
    first = contexts[0][1]
    rows = [[sense, *("{}/{}".format(*c.by_sense[sense]) for _, c in contexts)] for sense in first.by_sense]
    blind = f"{first.blind:.0%} of {first.sentences} sentences for one fixed translation"
    table = Table(["水 is here", *(label for label, _ in contexts)], rows)
    return [Detail(f"水 in context: right of all, by sense ({blind})", [table])]


def _share(value: float | None) -> str:
    return "—" if value is None else f"{value:.0%}"
