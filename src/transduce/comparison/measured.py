"""All that is measured of one member."""

from __future__ import annotations

from dataclasses import dataclass

from transduce.comparison.family import Recipe
from transduce.comparison.measures.alignment import Alignment, measure_alignment
from transduce.comparison.measures.context import Context, measure_context
from transduce.comparison.measures.forgetting import Forgetting, measure_forgetting
from transduce.comparison.measures.influence import measure_influence
from transduce.comparison.measures.lengths import Lengths, measure_lengths
from transduce.comparison.measures.order import Order, measure_order
from transduce.comparison.measures.parallel import Parallel, measure_parallel
from transduce.comparison.measures.scores import Scores, measure_scores
from transduce.comparison.measures.showcase import Shown, measure_showcase
from transduce.comparison.subject import Subject


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures behind every cell of the report that is about this member."""

    name: str
    label: str
    column: str | None
    recipe: Recipe
    order: Order
    context: Context | None
    lengths: Lengths
    forgetting: Forgetting
    alignment: Alignment | None
    parallel: Parallel
    scores: Scores
    outputs: list[str]
    """For the sentences that are shown."""


def measure(subject: Subject, sentences: list[Shown]) -> Measured:
    planned = subject.planned
    vocabularies = (subject.tokenizers.source.size, subject.tokenizers.target.size)
    influences = measure_influence(subject)
    return Measured(
        planned.name,
        planned.label,
        planned.column,
        planned.recipe,
        measure_order(subject),
        measure_context(subject),
        measure_lengths(subject),
        measure_forgetting(subject, influences),
        measure_alignment(subject, influences),
        measure_parallel(subject.model, subject.task, vocabularies),
        measure_scores(subject),
        measure_showcase(subject, sentences),
    )
