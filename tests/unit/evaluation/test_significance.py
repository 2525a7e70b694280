"""Paired bootstrap against a second system."""

from __future__ import annotations

import pytest

from transduce.errors import DataError
from transduce.evaluation.scores import ScoringConfig, looks_tokenised, score
from transduce.evaluation.significance import compare

REFERENCES = [
    f"the {a} cat number {i} sat on the {b} mat" for i in range(30) for a, b in (("red", "old"), ("blue", "new"))
]
WORSE = [line.replace("cat", "dog").replace("mat", "floor") for line in REFERENCES]


def test_a_clear_difference_is_significant_and_a_small_one_is_not() -> None:
    clear = compare(REFERENCES, WORSE, [REFERENCES])
    assert [c.name for c in clear] == ["BLEU", "chrF2", "TER"]
    assert all(c.p_value < 0.05 for c in clear)
    assert clear[0].system == pytest.approx(100.0)
    one_off = [WORSE[0], *REFERENCES[1:]]
    assert all(c.p_value > 0.05 for c in compare(REFERENCES, one_off, [REFERENCES]))


def test_it_is_repeatable_and_says_its_signature() -> None:
    first, second = (compare(REFERENCES, WORSE, [REFERENCES], metrics=("bleu",)) for _ in range(2))
    assert first == second
    assert "bs:1000" in first[0].signature
    assert "seed:12345" in first[0].signature


def test_scores_are_those_of_score() -> None:
    for found, alone in zip(compare(WORSE, REFERENCES, [REFERENCES]), score(WORSE, [REFERENCES]), strict=True):
        assert found.system == pytest.approx(alone.value)


def test_a_baseline_of_another_length_is_refused() -> None:
    with pytest.raises(DataError, match="59 lines, the output has 60"):
        compare(REFERENCES, WORSE[:-1], [REFERENCES])


def test_rules_for_older_papers_are_labelled() -> None:
    upper = [line.upper() for line in REFERENCES]
    plain = score(upper, [REFERENCES], metrics=("bleu",))[0]
    lower = score(upper, [REFERENCES], metrics=("bleu",), scoring=ScoringConfig(lowercase=True))[0]
    assert plain.value < 1 < 99 < lower.value
    assert "case:lc" in lower.signature
    tokens = score(
        ["a man , who ."] * 3, [["a man , who ."] * 3], metrics=("bleu",), scoring=ScoringConfig(tokenized=True)
    )
    assert "tok:none" in tokens[0].signature


def test_case_136_text_that_looks_tokenised_is_recognised() -> None:
    assert looks_tokenised(["a man walks ."] * 20)
    assert looks_tokenised(["a man wal@@ ks"])
    assert not looks_tokenised(["A man walks."] * 20)
    assert not looks_tokenised(["A man walks"] * 20)
