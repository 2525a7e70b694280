"""Verdicts follow from figures, and what contradicts the article is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.comparison.figures import measured
from transduce.comparison.expected import CHECKLIST, COLUMNS, cell, differences, unlearned
from transduce.comparison.family import FAMILY
from transduce.comparison.measures.alignment import Alignment
from transduce.comparison.measures.context import Context
from transduce.comparison.measures.forgetting import Forgetting, Kept

RULES = {criterion.title: criterion for criterion in CHECKLIST}


def verdict(title: str, **changes: Any) -> tuple[str, str]:
    found = RULES[title].judge(replace(measured(), **changes))
    return found.mark, found.figure


def test_the_columns_are_the_familys() -> None:
    assert {member.column for member in FAMILY} - {None} == set(COLUMNS)
    assert all(set(criterion.expected) == set(COLUMNS) for criterion in CHECKLIST)


def test_word_order() -> None:
    order = measured().order
    assert verdict("word order", order=replace(order, unchanged_reversed=0.49)) == ("✓", "49%")
    assert verdict("word order", order=replace(order, unchanged_reversed=1.0)) == ("✗", "100%")


def test_context_must_be_half_way_from_blind_to_perfect() -> None:
    assert verdict("context", context=Context(50, 0.61, {}, 0.2)) == ("✓", "61%")
    assert verdict("context", context=Context(50, 0.59, {}, 0.2)) == ("✗", "59%")
    assert verdict("context", context=None) == ("—", "")


def test_lengths() -> None:
    lengths = measured().lengths
    assert verdict("input of any length", lengths=replace(lengths, accepted=False)) == ("✗", "33 tokens")
    assert verdict("output of another length", lengths=replace(lengths, longer_outputs=0.1)) == ("✓", "10%")
    assert verdict("output of another length", lengths=replace(lengths, longer_outputs=0.0)) == ("✗", "0%")
    assert verdict("output of another length", lengths=replace(lengths, longer_outputs=None)) == ("—", "")


def forgetting(*shares: float, left: float | None, nats: tuple[float, float] = (3.0, 1.0)) -> Forgetting:
    """Shares of three groups, of which only the nearest and the farthest count."""
    kept = [Kept(8 * i, 8 * i + 7, 50, share, nats[i > 0]) for i, share in enumerate(shares)]
    return Forgetting(kept, left, [])


@pytest.mark.parametrize(
    ("last", "left", "mark"),
    [(1.0, 0.9, "✓"), (1.0, 0.79, "✓"), (0.9, 0.79, "✗"), (-0.1, 0.1, "✗"), (0.9, 0.8, "—"), (4.0, 4.5, "✓")],
)
def test_forgetting_is_what_is_surely_lost_between_the_nearest_and_the_farthest(
    last: float, left: float, mark: str
) -> None:
    found = verdict("no forgetting", forgetting=forgetting(1.25, 0.0, last, left=left))
    assert found == (mark, f"1.25 to {last:.2f}")


def test_who_reads_nothing_has_nothing_to_forget() -> None:
    assert verdict("no forgetting", forgetting=forgetting(1.0, 0.1, left=0.1, nats=(0.09, 0.4)))[0] == "—"
    assert verdict("no forgetting", forgetting=forgetting(1.0, 0.1, left=0.1, nats=(0.11, 0.4)))[0] == "✗"
    assert verdict("no forgetting", forgetting=forgetting(1.0, 2.5, left=2.5, nats=(2.0, 0.09)))[0] == "—"
    assert verdict("no forgetting", forgetting=forgetting(1.0, -0.004, left=0.1)) == ("✗", "1.00 to 0.00")
    assert verdict("no forgetting", forgetting=forgetting(1.0, left=None)) == ("—", "")


def test_alignment_is_measured_against_the_diagonal() -> None:
    assert verdict("tells positions apart", alignment=Alignment(7, 0.3, None, 0.4)) == ("✓", "AER 0.30")
    # One rule for all: what it attends to stands beside it.
    assert verdict("tells positions apart", alignment=Alignment(7, 0.31, 0.1, 0.4)) == ("✗", "AER 0.31")
    assert verdict("tells positions apart", alignment=None) == ("—", "")


def test_only_linear_growth_is_not_parallel() -> None:
    parallel = measured().parallel
    assert verdict("parallel in training", parallel=replace(parallel, growth="logarithmic"))[0] == "✓"
    assert verdict("parallel in training", parallel=replace(parallel, growth="linear"))[0] == "✗"


def test_a_contradiction_is_said_and_a_member_without_a_column_has_none() -> None:
    rnn = replace(measured(), column="RNN")
    assert cell(RULES["parallel in training"], rnn).contradicts
    assert "Model, parallel in training: ✗ was expected and ✓ was measured (17 to 17 steps)" in differences([rnn], [])
    assert differences([replace(rnn, column=None)], []) == []


def test_who_learned_nothing_is_named() -> None:
    scores = measured().scores
    assert unlearned([measured()]) == []
    poor = replace(measured(), scores=replace(scores, tests={"test": {"BLEU": 3.2, "chrF2": 9.0, "exact": 0.0}}))
    assert unlearned([poor])[0].startswith("Model reached a BLEU of 3.2 on “test”")
