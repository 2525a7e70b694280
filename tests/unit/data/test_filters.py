from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.corpus import CorpusConfig, RawPair
from transduce.data.filters import (
    FilterConfig,
    FingerprintSet,
    clean_pairs,
    filter_pairs,
    fingerprint,
    fingerprints,
    is_blank,
    token_filter,
)
from transduce.data.report import CorpusReport, Report
from transduce.errors import DataError

ANY_TEXT = st.text(st.characters(), max_size=30) | st.sampled_from(
    ["( ( ( ) ) )", "", "%s %", "\\\\", "\ud800", "\ufeff", "\x00", "a " * 400, "<pad>", "\u200b"]
)


def run(texts, **settings):
    """Filter texts numbered from 1; returns the numbers that stay, and the report."""
    report = CorpusReport("corpus")
    pairs = [RawPair(source, target, i) for i, (source, target) in enumerate(texts, start=1)]
    return [pair.number for pair in filter_pairs(pairs, FilterConfig(**settings), report)], report


def reasons(report: CorpusReport) -> dict[str, list[int]]:
    return {reason: tally.lines for reason, tally in report.dropped.items()}


def test_case_2_an_empty_side_is_dropped_with_its_line():
    kept, report = run([("a", "b"), ("c", ""), ("", "d"), (" \u3000", "\t"), ("e", "\u200b\ufeff"), ("f", "g")])
    assert kept == [1, 6]
    assert reasons(report) == {"empty target": [2, 5], "empty source": [3], "empty source and target": [4]}
    _, report = run([("a", "b"), ("c", ""), ("d", "e")])
    assert "  1 pair dropped: empty target, line 2" in report.render(None)


@pytest.mark.parametrize(("text", "blank"), [("", True), ("\u3000\x00\u200d", True), (" . ", False), ("水", False)])
def test_blank_text_shows_nothing(text, blank):
    assert is_blank(text) is blank


def test_characters_are_limited_on_either_side():
    kept, report = run([("a" * 7, "b" * 7), ("a" * 8, "b"), ("水", "b" * 8)], max_characters=7)
    assert kept == [1]
    assert reasons(report) == {"too many characters": [2, 3]}


def test_the_length_ratio_counts_bytes_and_spares_short_pairs():
    # 水 has three bytes: 5 of them are 15 bytes, 3.0 times fewer than 45.
    texts = [("水" * 5, "a" * 45), ("水" * 5, "a" * 46), ("a" * 46, "水" * 5), ("a", "a" * 20), ("a", "a" * 21)]
    kept, report = run(texts, max_ratio=3.0, ratio_minimum=20)
    assert kept == [1, 4]
    assert reasons(report) == {"length ratio": [2, 3, 5]}


def test_copies_stay_unless_they_are_to_go():
    texts = [("same", "same"), ("same ", " same"), ("same", "Same")]
    assert run(texts)[0] == [1, 2, 3]
    kept, report = run(texts, drop_copies=True)
    assert kept == [3]
    assert reasons(report) == {"copy": [1, 2]}


def test_duplicates_are_exact_pairs():
    texts = [("a", "b"), ("a", "c"), ("ab", ""), ("a", "b"), ("a", "b"), ("b", "a")]
    kept, report = run(texts)
    assert kept == [1, 2, 6]
    assert reasons(report) == {"empty target": [3], "duplicate": [4, 5]}
    assert run(texts, duplicates="keep")[0] == [1, 2, 4, 5, 6]


def test_a_byte_order_mark_inside_is_reported_and_removed():
    report = CorpusReport("corpus")
    pairs = [RawPair("a\ufeffb", "c", 3), RawPair("ab", "c", 5)]
    assert list(filter_pairs(pairs, FilterConfig(), report)) == [RawPair("ab", "c", 3)]
    assert report.warnings["U+FEFF byte order mark inside a line (removed)"].lines == [3]
    assert reasons(report) == {"duplicate": [5]}


@pytest.mark.parametrize("side", ["source", "target"])
def test_case_86_the_longest_length_allowed_is_max_length_without_the_end_mark(side):
    config = FilterConfig(max_length=5)
    for tokens, reason in ((4, None), (5, None), (6, "too long")):
        pair = {"source": [7], "target": [7], side: [7] * tokens}
        assert token_filter(pair["source"], pair["target"], config) == reason
    assert token_filter([], [7], config) == "no tokens"


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=20), st.booleans())
def test_case_28_no_text_stops_the_filters_and_every_pair_is_counted(texts, drop_copies):
    kept, report = run(texts, drop_copies=drop_copies, max_characters=50)
    assert report.read == len(texts) == report.kept + report.total_dropped
    assert report.kept == len(kept) == len(set(kept))
    assert kept == sorted(kept)
    for number in kept:
        assert all(part.encode() for part in texts[number - 1])
    assert Report([report]).render()


def test_case_28_the_pairs_of_the_report():
    texts = [("( ( ( ) ) )", ""), ("%s %", "\\\\"), ("a", "b " * 400), ("\ud800", "x")]
    kept, report = run(texts)
    assert kept == [2]
    assert reasons(report) == {"empty target": [1], "length ratio": [3], "lone surrogate": [4]}


def corpus_of(tmp_path, name: str, pairs) -> CorpusConfig:
    path = tmp_path / name
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return CorpusConfig(tsv=path)


def test_case_26_held_out_pairs_blanks_copies_and_duplicates_are_counted(tmp_path):
    """20 pairs with 3 blank, 5 copies and 4 duplicates; 2 of the other 8 are in the test text too."""
    pairs = [("", "x"), ("x", " "), ("", "")]
    pairs += [(f"copy{i}", f"copy{i}") for i in range(5)]
    good = [(f"s{i}", f"t{i}") for i in range(8)]
    pairs += [*good, *good[:4]]
    train = [corpus_of(tmp_path, "train.tsv", pairs)]
    test = [corpus_of(tmp_path, "test.tsv", [good[5], ("new", "neu"), good[7]])]
    config = FilterConfig(drop_copies=True)
    held_out = fingerprints(test, config)
    report = Report()
    kept = [(p.source, p.target) for _, p in clean_pairs(train, config, report, held_out=held_out)]
    assert kept == [*good[:5], good[6]]
    assert report.dropped == {
        "empty source": 1,
        "empty target": 1,
        "empty source and target": 1,
        "copy": 5,
        "also in the held-out text": 2,
        "duplicate": 4,
    }
    open_config = config.model_copy(update={"held_out": "keep"})
    kept = [(p.source, p.target) for _, p in clean_pairs(train, open_config, report, held_out=held_out)]
    assert kept == good
    assert report.corpora[0].warnings["also in the held-out text"].lines == [14, 16]


def test_duplicates_are_found_across_corpora(tmp_path):
    corpora = [corpus_of(tmp_path, "a", [("1", "1"), ("2", "2")]), corpus_of(tmp_path, "b", [("3", "3"), ("1", "1")])]
    report = Report()
    kept = [(index, pair.number) for index, pair in clean_pairs(corpora, FilterConfig(), report)]
    assert kept == [(0, 1), (0, 2), (1, 1)]
    assert reasons(report.corpora[1]) == {"duplicate": [2]}


def test_lines_that_are_not_utf8_are_counted_when_they_may_be_dropped(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"a\tb\nc\t\xff\nd\te\n")
    report = Report()
    kept = [p.number for _, p in clean_pairs([CorpusConfig(tsv=path)], FilterConfig(invalid_utf8="drop"), report)]
    assert kept == [1, 3]
    assert (report.read, report.kept, reasons(report.corpora[0])) == (3, 2, {"not UTF-8": [2]})
    with pytest.raises(DataError, match="line 2"):
        list(clean_pairs([CorpusConfig(tsv=path)], FilterConfig(), report))


@given(st.lists(st.integers(1, 60) | st.integers(1, 2**64 - 1)))
def test_a_fingerprint_set_is_a_set(items):
    ours, plain = FingerprintSet(), set()
    for item in items:
        assert (item in ours) == (item in plain)
        assert ours.add(item) == (item not in plain)
        plain.add(item)
    assert len(ours) == len(plain)


def test_a_fingerprint_set_grows():
    many = [fingerprint(RawPair(str(i), "x", i)) for i in range(20_000)]
    ours = FingerprintSet(many)
    assert len(ours) == 20_000
    assert all(item in ours for item in many)
    assert fingerprint(RawPair("new", "x", 1)) not in ours


def test_a_fingerprint_knows_the_border_between_the_sides():
    pairs = [("ab", "c"), ("a", "bc"), ("c", "ab"), ("", "abc")]
    assert len({fingerprint(RawPair(s, t, 1)) for s, t in pairs}) == 4
