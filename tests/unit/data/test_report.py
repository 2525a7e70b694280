from __future__ import annotations

import json
import random

import pytest

from transduce.data.report import CorpusReport, Lengths, Report, Tally
from transduce.data.scripts import looks_swapped, script_of
from transduce.errors import DataError, RunError


def observed(pairs) -> CorpusReport:
    report = CorpusReport("corpus")
    for number, (source, target) in enumerate(pairs, start=1):
        report.observe(source, target, number)
        report.keep()
    return report


def test_a_tally_keeps_the_first_five_lines():
    tally = Tally()
    tally.add(3)
    assert tally.where() == "line 3"
    for number in (5, 7, 11, 13, 17):
        tally.add(number)
    assert (tally.count, tally.lines) == (6, [3, 5, 7, 11, 13])
    assert tally.where() == "lines 3, 5, 7, 11, 13, …"


def test_length_statistics_are_lengths_that_occur():
    assert Lengths.of({}) is None
    assert Lengths.of({7: 1}) == Lengths(7, 7, 7, 7)
    # 1 … 100 once each: half are up to 50, 95 % up to 95.
    assert Lengths.of(dict.fromkeys(range(1, 101), 1)) == Lengths(1, 50, 95, 100)
    assert Lengths.of({2: 97, 30: 3}) == Lengths(2, 2, 2, 30)


def test_case_13_odd_characters_are_counted_with_their_lines():
    report = observed([("a\u2028b", "x"), ("c", "\x85"), ("\x0b\x0c\x1c", "\u2029\x00"), ("\tplain 水", "é")])
    assert {kind: tally.lines for kind, tally in report.warnings.items()} == {
        "U+2028 line separator": [1],
        "U+0085 next line": [2],
        "U+0000 NUL": [3],
        "U+000B line tabulation": [3],
        "U+000C form feed": [3],
        "U+001C control character": [3],
        "U+2029 paragraph separator": [3],
    }


def test_case_40_text_that_looks_like_a_special_token_is_reported():
    report = observed([("red <pad> blue </s> green", "x"), ("a", "b"), ("c", "<unk>"), ("<br>", "< pad >")])
    (kind,) = report.warnings
    assert "special token" in kind
    assert report.warnings[kind].lines == [1, 3]


def test_case_92_shifted_sides_are_suspected():
    rng = random.Random(3)
    sides = [("s" * n, "t" * (n + rng.randint(0, 3))) for n in (rng.randint(3, 40) for _ in range(400))]
    straight = observed(sides)
    assert straight.correlation() > 0.9
    assert straight.suspicions(None) == []
    shifted = observed(zip([s for s, _ in sides], [t for _, t in sides[1:]] + ["t"], strict=True))
    assert abs(shifted.correlation()) < 0.2
    assert "may be shifted" in shifted.suspicions(None)[0]
    assert any("may be shifted" in line for line in shifted.render(None))
    few = observed([("a" * n, "b" * (10 - n)) for n in range(1, 10)])
    assert few.correlation() < 0
    assert few.suspicions(None) == []
    assert observed([("abc", "de")] * 100).correlation() is None


def test_correlation_by_hand():
    # Logarithms to base 2 are 0, 1, 2 and 0, 2, 1: r = 1/2.
    assert observed([("a", "a"), ("aa", "aaaa"), ("aaaa", "aa")]).correlation() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("languages", "sample", "swapped"),
    [
        (("zh", "en"), ("我爱水课 OK", "I love easy courses"), False),
        (("en", "zh"), ("我爱水课", "I love easy courses"), True),
        (("zh-Hans", "en_GB"), ("I love 水", "我爱水课"), True),
        (("en", "de"), ("Ich liebe", "I love"), False),
        (("ja", "zh"), ("我爱水课", "わたしは水が好きです"), True),
        (("zh", "ja"), ("我爱水课", "わたしは水が好きです"), False),
        (("xx", "ru"), ("Я люблю", "abc"), True),
        (("xx", "ru"), ("abc", "Я люблю"), False),
        (("en", "ru"), ("123 !?", "456"), False),
    ],
)
def test_swapped_sides_are_seen_by_their_scripts(languages, sample, swapped):
    assert looks_swapped(*languages, [sample]) is swapped
    assert any("swapped" in line for line in observed([sample]).suspicions(languages)) is swapped


def test_scripts_of_codes():
    assert [script_of(code) for code in ("zh_CN", "ZH", "ja", "ru-RU", "pt", "tlh")] == [
        "CJK",
        "CJK",
        "KANA",
        "CYRILLIC",
        "LATIN",
        None,
    ]


def example() -> Report:
    """100 pairs, 40 of them too long, the first on lines 3, 7, 9, 12 and 14; one unknown token."""
    part = CorpusReport("a.tsv")
    long = {3, 7, 9, 12, 14, *range(66, 101)}
    for number in range(1, 101):
        tokens = 7 if number in long else 5
        part.observe("x" * tokens, "y" * 11, number)
        part.keep()
        part.observe_tokens(tokens, 3, (0, 1 if number == 2 else 0), number)
        if number in long:
            part.take_back(number, "too long")
    return Report([part], ("zh", "en"))


def test_case_29_the_summary_adds_up():
    lines = example().render().splitlines()
    assert lines[0] == "a.tsv: read 100, kept 60, dropped 40 (too long: 40)"
    assert lines[1] == "  40 pairs dropped: too long, lines 3, 7, 9, 12, 14, …"
    assert "  source characters: shortest 5, median 5, 95 % up to 7, longest 7" in lines
    assert "  target tokens: shortest 3, median 3, 95 % up to 3, longest 3" in lines
    assert "  target: 1 of 300 tokens unknown (0.33%)" in lines
    assert "  warning: unknown token in the target: 1 pair, line 2" in lines


def test_several_corpora_have_a_sum():
    report = Report([*example().corpora, *example().corpora])
    assert (report.read, report.kept, report.dropped) == (200, 120, {"too long": 80})
    assert report.render().splitlines()[-1] == "in all: read 200, kept 120, dropped 80"


def test_nothing_left_is_an_error():
    report = Report([CorpusReport("a", read=2)])
    report.corpora[0].drop(1, "too long")
    report.corpora[0].drop(2, "too long")
    with pytest.raises(DataError, match=r"(?s)no pair is left.*read 2, kept 0, dropped 2 \(too long: 2\)"):
        report.check(1.0)


def test_case_25_too_great_a_loss_stops():
    part = CorpusReport("a.tsv", read=10, kept=7)
    for number in (2, 3, 5):
        part.drop(number, "too long")
    report = Report([CorpusReport("b.tsv", read=1000, kept=1000), part])
    report.check(0.3)
    with pytest.raises(DataError, match=r"a\.tsv: 3 of 10 pairs .* \(30%\).*`max_dropped` = 0\.2") as caught:
        report.check(0.2)
    assert "3 pairs dropped: too long, lines 2, 3, 5" in str(caught.value)
    report.check(0.2, spared=frozenset({"too long"}))


def test_a_report_survives_json():
    report = example()
    tree = json.loads(json.dumps(report.to_json()))
    assert Report.from_json(tree) == report
    assert tree["corpora"][0]["length_correlation"] is None
    for damaged in ({}, {"corpora": [{"read": 3}]}, [], {"corpora": 3}):
        if damaged == {}:
            assert Report.from_json(damaged) == Report()
        else:
            with pytest.raises(RunError, match="not a data report"):
                Report.from_json(damaged)
