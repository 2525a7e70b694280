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
from transduce.comparison.measures.forgetting import Group

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
    assert verdict("output of another length", lengths=replace(lengths, longer_outputs=0.5)) == ("✓", "50%")
    assert verdict("output of another length", lengths=replace(lengths, longer_outputs=0.0)) == ("✗", "0%")
    assert verdict("output of another length", lengths=replace(lengths, longer_outputs=None)) == ("—", "")


@pytest.mark.parametrize(
    ("first", "last", "mark"), [(1.0, 0.8, "✓"), (1.0, 0.79, "✗"), (0.6, 0.48, "✓"), (0.4, 0.1, "—")]
)
def test_forgetting_compares_the_longest_with_the_shortest(first: float, last: float, mark: str) -> None:
    groups = [Group(3, 7, 11, first, 50.0), Group(8, 11, 13, 0.0, 50.0), Group(12, 17, 19, last, 50.0)]
    assert verdict("no forgetting", forgetting=groups)[0] == mark


def test_alignment_is_measured_against_the_diagonal() -> None:
    assert verdict("tells positions apart", alignment=Alignment(7, 0.3, 0.4)) == ("✓", "AER 0.30")
    assert verdict("tells positions apart", alignment=Alignment(7, 0.31, 0.4)) == ("✗", "AER 0.31")


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
    assert unlearned([poor])[0].startswith("Model reached a BLEU of 3.2 on `test`")
