"""Reported faults of evaluation, by number: whatever the lines, as many are scored as were given, each as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.copy_run import load, sentences
from transduce.errors import DataError
from transduce.evaluation.scores import ScoringConfig, exact_match, score
from transduce.evaluation.significance import compare

LINES = st.text(st.sampled_from("ab .,()'é水@ \t\u2028-"), max_size=9)
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=7)
PAIRS = st.lists(st.tuples(LINES | ANY, LINES | ANY, LINES | ANY), min_size=1, max_size=5)


@given(rows=PAIRS, lowercase=st.booleans(), tokenized=st.booleans(), language=st.sampled_from(["en", "zh", "ja"]))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_case_139_case_140_any_lines_are_scored_and_never_above_100(
    rows: list[tuple[str, str, str]], lowercase: bool, tokenized: bool, language: str
) -> None:
    """Empty ones, on any side, and the same on both sides, where sacreBLEU's own rounding passes 100."""
    output, first, second = (list(column) for column in zip(*rows, strict=True))
    scoring = ScoringConfig(lowercase=lowercase, tokenized=tokenized)
    for references in ([first], [first, second], [output]):
        bleu, chrf, ter = score(output, references, language=language, scoring=scoring)
        assert 0 <= bleu.value <= 100 and 0 <= chrf.value <= 100 and ter.value >= 0
        assert 0 <= exact_match(output, references).value <= 100


def test_case_140_the_rounding_is_there_to_be_stopped() -> None:
    lines = ["a b c d e"] * 3
    assert sacrebleu.corpus_bleu(lines, [lines]).score > 100
    assert score(lines, [lines], metrics=("bleu",))[0].value == 100.0
    (comparison,) = compare(lines, ["a b c d f"] * 3, [lines], metrics=("bleu",))
    assert comparison.system == 100.0 > comparison.baseline


@pytest.mark.parametrize("count", [2, 3, 5])
def test_case_140_the_message_says_how_references_are_nested(count: int) -> None:
    turned = [[f"{i}"] for i in range(count)]
    with pytest.raises(DataError, match=f"expected one list of {count}, got {count} lists of 1"):
        score(["x"] * count, turned)
    with pytest.raises(DataError, match=f"expected one list of {count}, got {count} lists of 1"):
        exact_match(["x"] * count, turned)
    assert score(["x"], turned)[0].signature.startswith(f"nrefs:{count}|"), "one line with several references"


@pytest.mark.parametrize("sets", [1, 2, 3])
@pytest.mark.parametrize("nothing", ["", " ", "\u3000"])
def test_case_142_nothing_said_scores_nothing(sets: int, nothing: str) -> None:
    references = [["the cat sat", "on the mat", "today"]] * sets
    bleu, chrf, _ = score([nothing] * 3, references)
    assert (bleu.value, chrf.value) == (0.0, 0.0)
    assert exact_match([nothing] * 3, references).value == 0.0


def test_case_149_references_that_a_cleaning_emptied_keep_their_lines() -> None:
    """Nothing here removes text from a reference; where somebody else did, the other lines still meet their own."""
    output = ["thanks", "hi there all of you", "so it is then , is it"]
    for references in (["(Applause)", *output[1:]], ["", *output[1:]]):
        assert exact_match(output, [references]).value == pytest.approx(200 / 3)
        ter = score(output, [references], metrics=("ter",))[0].value
        words = sum(len(line.split()) for line in references)
        assert ter == pytest.approx(100 / words), "one word too many or another, in all"
    assert score(output, [[*output[1:], ""]])[0].value < 50, "moved up by a line they would not"


def test_case_146_scores_come_in_the_order_of_the_input(copy_run: Path) -> None:
    """Sentences of all lengths, more than are scored in one batch."""
    translator = load(copy_run)
    sources, targets = (sentences(150, seed=seed, longest=12) for seed in (146, 147))
    together = translator.score(sources, targets)
    assert len({round(s.log_probability, 3) for s in together}) > 140
    for i in range(0, 150, 7):
        (alone,) = translator.score([sources[i]], [targets[i]])
        assert together[i].pieces == alone.pieces
        assert together[i].log_probability == pytest.approx(alone.log_probability, abs=1e-4)


@pytest.mark.parametrize("candidates", [["this is it", ""], ["", "this is it"], ["", "this"], ["", "is this not it ?"]])
def test_case_145_the_best_of_several_is_never_the_empty_one(candidates: list[str]) -> None:
    """By chrF: the BLEU of a corpus of one short sentence is 0 for want of four tokens in a row."""
    bleu, chrf = (
        {text: score([text], [["this is it ."]], metrics=(name,))[0].value for text in candidates}
        for name in ("bleu", "chrf")
    )
    assert bleu[""] == chrf[""] == 0.0 == min(bleu.values())
    assert max(chrf, key=chrf.__getitem__) != ""
