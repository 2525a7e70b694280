"""Scores are sacreBLEU's own, with its signature."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import sacrebleu

from transduce.errors import DataError
from transduce.evaluation.scores import Score, exact_match, score

OUTPUT = ["The cat sat on the mat .", "It's a dog, isn't it?", "nothing"]
FIRST = ["The cat sat on a mat.", "It's a dog, is it not?", "something"]
SECOND = ["A cat was on the mat.", "That is a dog, isn't it?", "nothing at all"]
CHINESE = (["我喜欢水课。", "今天下雨"], ["我爱水课。", "今天没有下雨"])


def by_name(scores: Sequence[Score]) -> dict[str, float]:
    return {s.name: s.value for s in scores}


@pytest.mark.parametrize("references", [[FIRST], [FIRST, SECOND]], ids=["one", "two"])
def test_case_137_equal_to_sacrebleu_to_the_last_digit(references: list[list[str]]) -> None:
    found = by_name(score(OUTPUT, references, language="en"))
    assert found == {
        "BLEU": sacrebleu.corpus_bleu(OUTPUT, references).score,
        "chrF2": sacrebleu.corpus_chrf(OUTPUT, references).score,
        "TER": sacrebleu.corpus_ter(OUTPUT, references).score,
    }
    assert 0 < found["BLEU"] < 100 and 0 < found["chrF2"] < 100 and found["TER"] > 0


@pytest.mark.parametrize("language", ["zh", "zh-Hans", "ZH", "zh_CN"])
def test_chinese_is_split_into_characters(language: str) -> None:
    output, reference = CHINESE
    found = score(output, [reference], language=language)
    assert found[0].value == sacrebleu.corpus_bleu(output, [reference], tokenize="zh").score > 0
    assert "tok:zh" in found[0].signature
    assert found[2].value == sacrebleu.corpus_ter(output, [reference], asian_support=True, normalized=True).score
    assert found[0].value != score(output, [reference], language="en")[0].value


@pytest.mark.parametrize(("language", "tokens"), [("ja", "char"), ("ko-KR", "char"), ("de", "13a"), ("", "13a")])
def test_how_other_languages_are_split(language: str, tokens: str) -> None:
    assert f"tok:{tokens}" in score(OUTPUT, [FIRST], language=language)[0].signature


def test_a_signature_tells_the_method() -> None:
    bleu, chrf, ter = score(OUTPUT, [FIRST, SECOND])
    version = sacrebleu.__version__
    assert bleu.signature == f"nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"
    assert chrf.signature == f"nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}"
    assert ter.signature == f"nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:{version}"
    assert str(bleu) == f"BLEU {bleu.value:.2f}  ({bleu.signature})"


def test_only_what_is_asked_for() -> None:
    assert [s.name for s in score(OUTPUT, [FIRST], metrics=("chrf",))] == ["chrF2"]


def test_case_143_unequal_counts_are_refused() -> None:
    with pytest.raises(DataError, match="reference 2 has 2 lines, the output has 3"):
        score(OUTPUT, [FIRST, SECOND[:2]])


def test_case_140_references_nested_the_other_way_are_refused() -> None:
    with pytest.raises(DataError, match="reference 1 has 1 lines, the output has 3"):
        score(OUTPUT, [["x"], ["y"], ["z"]])
    with pytest.raises(DataError, match="reference 1 has 7 lines, the output has 7"):
        score(["nothing"] * 7, ["nothing"])


def test_case_142_empty_output_scores_nothing() -> None:
    found = by_name(score(["", "", ""], [FIRST, SECOND]))
    assert (found["BLEU"], found["chrF2"]) == (0.0, 0.0)
    assert found["TER"] > 90


def test_case_139_an_empty_reference_is_scored_like_any_other() -> None:
    references = ["a b", "", "c"]
    found = by_name(score(["a b", "", "c"], [references]))
    assert found["chrF2"] == 100.0 and found["TER"] == 0.0
    assert by_name(score(["a b", "d e f", "c"], [references]))["TER"] > 0


def test_case_145_an_empty_line_is_not_the_best() -> None:
    (empty,), (right,) = (score([text], [["this is it ."]], metrics=("bleu",)) for text in ("", "this is it ."))
    assert empty.value == 0.0 < right.value


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(DataError, match="there is nothing to score"):
        score([], [[]])


def test_exact_match_counts_lines_that_equal_a_reference() -> None:
    found = exact_match(["a", "b", "c", ""], [["a", "x", "c", ""], ["y", "b", "z", "w"]])
    assert (found.name, found.value, found.signature) == ("exact", 100.0, "nrefs:2|case:mixed|lines:4")
    assert exact_match(["a", "B"], [["a", "b"]]).value == 50.0
    with pytest.raises(DataError):
        exact_match(["a"], [["a", "b"]])
