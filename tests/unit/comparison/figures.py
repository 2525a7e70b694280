"""A member's figures, made by hand."""

from __future__ import annotations

from transduce.comparison.family import Recipe
from transduce.comparison.measured import Measured
from transduce.comparison.measures.alignment import Alignment
from transduce.comparison.measures.context import Context
from transduce.comparison.measures.forgetting import Forgetting, Group, Kept
from transduce.comparison.measures.lengths import Lengths
from transduce.comparison.measures.order import Order
from transduce.comparison.measures.parallel import Parallel
from transduce.comparison.measures.scores import Scores


def measured(label: str = "Model", column: str | None = "Transformer") -> Measured:
    """One that has all that is expected of the Transformer."""
    return Measured(
        name=label.lower(),
        label=label,
        column=column,
        recipe=Recipe("gru", "1 + 1", 26, {"attention": "additive"}, 0.004, "linear"),
        order=Order(11, 0.1, 0.2, 1.5),
        context=Context(13, 0.9, {"水课": (6, 7), "喝水": (5, 6)}, 0.2),
        lengths=Lengths(33, True, 5, 0.8, 0.0, 7.0, 5.0),
        forgetting=Forgetting(
            [Kept(4, 7, 31, 1.2, 3.0), Kept(16, 29, 37, 1.1, 2.0)], 1.0, [Group(3, 7, 11, 70.0), Group(8, 13, 17, 60.0)]
        ),
        alignment=Alignment(7, 0.2, 0.3, 0.5),
        parallel=Parallel([4, 8, 16], [17, 17, 17], "constant", [0.01, 0.011, 0.012]),
        scores=Scores(
            1009,
            31,
            3001,
            2.0,
            0.5,
            {"test": {"BLEU": 61.0, "chrF2": 71.0, "exact": 31.0}},
            ["BLEU tok:13a"],
            37.0,
            101.0,
            [(1000, 0.7, 3.0, 10.0), (2000, 1.3, 2.0, 31.0), (3001, 2.0, 1.0, 59.0)],
        ),
        outputs=["I love easy courses"],
    )
