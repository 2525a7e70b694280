"""What the article and the paper lead one to expect, as data, and the rules by which a measurement is judged.

No verdict is written down here: each follows from a figure by the rule beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from transduce.comparison.growth import Growth
from transduce.comparison.measured import Measured
from transduce.comparison.measures.forgetting import SURE
from transduce.comparison.measures.layers import LayerCost

Mark = Literal["✓", "✗", "—"]
"""Has it, has it not; — where nothing is expected, or nothing can be measured."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a measurement says."""

    mark: Mark
    figure: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """A line of the article's checklist (1.7)."""

    title: str
    rule: str
    judge: Callable[[Measured], Verdict]
    expected: dict[str, Mark]
    """By column of the checklist."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A criterion's expectation and finding for one member."""

    expected: Mark
    found: Verdict

    @property
    def contradicts(self) -> bool:
        return "—" not in (self.expected, self.found.mark) and self.expected != self.found.mark


COLUMNS = ("FNN mean", "FNN concat", "RNN", "+ encoder-decoder", "+ attention", "Transformer")

ORDER_UNCHANGED, OTHER_LENGTH, KEPT, READ, BETTER_THAN_DIAGONAL = 0.5, 0.1, 0.8, 0.1, 0.75


def _marks(row: str) -> dict[str, Mark]:
    return dict(zip(COLUMNS, row.split(), strict=True))  # type: ignore[arg-type]


def _order(m: Measured) -> Verdict:
    share = m.order.unchanged_reversed
    return Verdict("✓" if share < ORDER_UNCHANGED else "✗", f"{share:.0%}")


def _context(m: Measured) -> Verdict:
    if m.context is None:
        return Verdict("—", "")
    needed = (1 + m.context.blind) / 2
    return Verdict("✓" if m.context.accuracy > needed else "✗", f"{m.context.accuracy:.0%}")


def _any_input(m: Measured) -> Verdict:
    return Verdict("✓" if m.lengths.accepted else "✗", f"{m.lengths.tried} tokens")


def _other_output(m: Measured) -> Verdict:
    share = m.lengths.longer_outputs
    return Verdict("—", "") if share is None else Verdict("✓" if share >= OTHER_LENGTH else "✗", f"{share:.0%}")


def _no_forgetting(m: Measured) -> Verdict:
    kept, left = m.forgetting.kept, m.forgetting.left
    if left is None:
        return Verdict("—", "")
    # A rounded −0.004 would be −0.00.
    figure = " to ".join(f"{round(k.share, 2) + 0.0:.2f}" for k in (kept[0], kept[-1]))
    # Who reads nothing has nothing to forget.
    if min(kept[0].nats, kept[-1].nats) < READ:
        return Verdict("—", figure)
    if kept[-1].share >= KEPT * kept[0].share:
        return Verdict("✓", figure)
    return Verdict("✗" if left < KEPT else "—", figure)


def _apart(m: Measured) -> Verdict:
    if m.alignment is None:
        return Verdict("—", "")
    better = m.alignment.error <= BETTER_THAN_DIAGONAL * m.alignment.diagonal
    return Verdict("✓" if better else "✗", f"AER {m.alignment.error:.2f}")


def _parallel(m: Measured) -> Verdict:
    steps = f"{m.parallel.steps[0]} to {m.parallel.steps[-1]} steps"
    return Verdict("✗" if m.parallel.growth == "linear" else "✓", steps)


CHECKLIST: tuple[Criterion, ...] = (
    Criterion(
        "word order",
        f"✓ if less than {ORDER_UNCHANGED:.0%} of the outputs stay the same, to the token, when the source's tokens "
        "are reversed; the figure is that share",
        _order,
        _marks("✗ ✓ ✓ ✓ ✓ ✓"),
    ),
    Criterion(
        "context",
        "✓ if 水 comes out right in more sentences than half way from what one fixed translation of it would reach to "
        "all of them; the figure is the share that is right",
        _context,
        _marks("✗ ✗ ✓ ✓ ✓ ✓"),
    ),
    Criterion(
        "input of any length",
        "✓ if a source three times as long as the longest is taken; the figure is its length",
        _any_input,
        _marks("✓ ✗ ✓ ✓ ✓ ✓"),
    ),
    Criterion(
        "output of another length",
        f"✓ if at least {OTHER_LENGTH:.0%} of the outputs have more tokens than their source where the reference does, "
        "which a network of one output for each input never has; the figure is that share",
        _other_output,
        _marks("✗ ✗ ✗ ✓ ✓ ✓"),
    ),
    Criterion(
        "no forgetting",
        "a word of the source is worth the nats by which log p of what is written falls when another stands in its "
        "place; the figure is what the word that was read first is worth, as a multiple of the mean of all words read "
        "so far, with the fewest words read since and with the most (networks of one output for each input write while "
        f"they read, others when they have read all). ✓ if the second is at least {KEPT:.0%} of the first, ✗ if it is "
        f"less, in {SURE:.1%} of resamplings of the sentences too; — if that may be chance, or if at either all words "
        f"read are worth less than {READ:g} nats for each token written",
        _no_forgetting,
        _marks("— — ✗ ✗ ✓ ✓"),
    ),
    Criterion(
        "tells positions apart",
        "each written token is linked to the source token whose replacement by another changes most what would be "
        "written there; the figure is the alignment error rate of these links. ✓ if it is at most "
        f"{BETTER_THAN_DIAGONAL:g} times that of a straight diagonal",
        _apart,
        _marks("— — ✗ ✗ ✓ ✓"),
    ),
    Criterion(
        "parallel in training",
        "✗ if the dependent steps of a training pass grow linearly with the length; the figure is their number for the "
        "shortest and the longest sentences",
        _parallel,
        _marks("— — ✗ ✗ ✗ ✓"),
    ),
)
"""A 1.7. The article has one column for feed-forward networks, all ✗; here each variant has what it can be expected to
do alone."""


def cell(criterion: Criterion, m: Measured) -> Cell:
    """A member without a column has no expectation."""
    return Cell(criterion.expected[m.column] if m.column is not None else "—", criterion.judge(m))


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """A line of the paper's Table 1: exponents of n and d in the work, and growth with n."""

    formula: str
    n: int
    d: int
    steps: Growth
    path: Growth


TABLE_1: dict[str, ExpectedCost] = {
    "self-attention": ExpectedCost("n²·d", 2, 1, "constant", "constant"),
    "recurrent": ExpectedCost("n·d²", 1, 2, "linear", "linear"),
    "convolution": ExpectedCost("k·n·d²", 1, 2, "constant", "linear"),
    "convolution, dilated": ExpectedCost("k·n·d²", 1, 2, "constant", "logarithmic"),
    "self-attention, restricted": ExpectedCost("r·n·d", 1, 1, "constant", "linear"),
}
"""P table 1. Convolutions: the path of plain ones is O(n/k), of dilated ones O(log_k n)."""

EXPONENT_OFF = 0.15
"""By which a fitted exponent may differ from the expected one."""


def cost_differences(cost: LayerCost) -> list[str]:
    """Where a layer's measured cost is another than the paper's, in words."""
    e = TABLE_1[cost.name]
    found = []
    for letter, expected, value in (("n", e.n, cost.work_n), ("d", e.d, cost.work_d)):
        if abs(value - expected) > EXPONENT_OFF:
            found.append(f"{cost.name}: work grows with {letter}^{value:.2f}, where {letter}^{expected} was expected")
    for what, growth_expected, measured in (
        ("sequential operations", e.steps, cost.steps_growth),
        ("the longest path", e.path, cost.path_growth),
    ):
        if growth_expected != measured:
            found.append(f"{cost.name}: {what}: {growth_expected} was expected, and {measured} in n was found")
    return found


def differences(family: Iterable[Measured], costs: Iterable[LayerCost]) -> list[str]:
    """Every measurement that says otherwise than article and paper, in words."""
    found = []
    for m in family:
        for criterion in CHECKLIST:
            c = cell(criterion, m)
            if c.contradicts:
                found.append(
                    f"{m.label}, {criterion.title}: {c.expected} was expected and {c.found.mark} was measured "
                    f"({c.found.figure})"
                )
    return found + [line for cost in costs for line in cost_differences(cost)]


LEARNED = 10.0
"""BLEU below which a model can't be said to translate."""


def unlearned(family: Iterable[Measured]) -> list[str]:
    """Who learned too little for its cells to say much, in words."""
    found = []
    for m in family:
        name, scores = next(iter(m.scores.tests.items()))
        if scores["BLEU"] < LEARNED:
            found.append(
                f"{m.label} reached a BLEU of {scores['BLEU']:.1f} on “{name}”: what it does not do here it may not "
                "have learned with this budget, or may never learn"
            )
    return found
