"""Where sentences are: nothing is lost, and nothing that belongs together is cut."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.errors import ConfigError
from transduce.text.segments import cut_long, is_spaceless, sentence_spans

MIXED = st.lists(
    st.one_of(
        st.text(max_size=5),
        st.sampled_from(
            [". ", "! ", "。", "？", "\n", "\r\n", "\r", "\n\n", "\t", "Dr. ", "e.g. ", '"', "- ", "\u2028", "👍🏽"]
        ),
    ),
    max_size=13,
).map("".join)


def sentences(text: str, language: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, language)]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Dr. Smith is here. Is she? Yes!", ["Dr. Smith is here.", "Is she?", "Yes!"]),
        ("en-GB", "It was 3.5 m, e.g. here.  Good.", ["It was 3.5 m, e.g. here.", "Good."]),
        ("zh", "我爱水课。你呢？他说：“好的。”走了", ["我爱水课。", "你呢？", "他说：“好的。”", "走了"]),
        ("zh_Hans", "我爱水课。你呢？", ["我爱水课。", "你呢？"]),
        ("xx", "One. Two.", ["One.", "Two."]),
        ("", "One. Two.", ["One.", "Two."]),
        ("en", "\tone\r\n\n  two\rthree\u2028four \n", ["one", "two\rthree\u2028four"]),
        ("en", "# Title\n- one\n  * two\n> > said\n-five", ["Title", "one", "two", "said", "-five"]),
        ("en", " \r\n\n \u3000", []),
        ("en", "", []),
    ],
)
def test_sentences(language: str, text: str, expected: list[str]) -> None:
    assert sentences(text, language) == expected


@given(text=MIXED, language=st.sampled_from(["en", "zh", "de", "ar", "hi", "th", "ja", "xx", "../x"]))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_nothing_is_lost_whatever_the_text(text: str, language: str) -> None:
    spans = sentence_spans(text, language)
    at = 0
    for start, end in spans:
        assert at <= start < end and text[start:end] == text[start:end].strip() and "\n" not in text[start:end]
        assert not set(text[at:start]) - set("-*+•·>#") - {c for c in text[at:start] if c.isspace()}
        at = end
    assert not any(map(str.isalnum, text[at:]))


def test_lone_surrogates_are_text() -> None:
    assert sentences("a \ud800. B", "en") == ["a \ud800.", "B"]


def test_without_sentencex_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(ConfigError, match=r"pip install 'transduce\[serve\]'"):
        sentence_spans("a", "en")


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("one two three", 13, ["one two three"]),
        ("ab, cd ef gh", 11, ["ab,", "cd ef gh"]),
        ("one two, three four", 11, ["one two,", "three four"]),
        ("about 1,000 of it", 13, ["about 1,000", "of it"]),
        ("我爱水，你爱火课吗", 5, ["我爱水，", "你爱火课吗"]),
        ("我爱水课你爱火课", 5, ["我爱水课", "你爱火课"]),
        ("aaaaaaaa", 4, ["aaaa", "aaaa"]),
        ("e\u0301e\u0301e\u0301", 4, ["e\u0301e\u0301", "e\u0301"]),
        ("x", 0, ["x"]),
    ],
)
def test_a_long_sentence_is_cut_where_it_hurts_least(text: str, longest: int, expected: list[str]) -> None:
    assert [text[start:end] for start, end in cut_long(text, len, longest)] == expected


def test_what_is_whole_is_not_cut() -> None:
    text = "go {a b c d e f} on"
    spans = cut_long(text, len, 5, whole=[(3, 16)])
    assert [text[start:end] for start, end in spans] == ["go", "{a b c d e f}", "on"]


@given(text=MIXED.map(str.strip), longest=st.integers(2, 13))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_cuts_lose_nothing_but_white_space(text: str, longest: int) -> None:
    spans = cut_long(text, len, longest)
    at = 0
    for start, end in spans:
        assert not text[at:start].strip()
        # A letter and its marks stay together, however many.
        assert end - start <= longest or not any(c.isalnum() for c in text[start + 1 : end])
        at = end
    assert not text[at:].strip()


def test_scripts_without_spaces() -> None:
    assert all(map(is_spaceless, "水あア。，「！กကក"))
    assert not any(map(is_spaceless, "aé1.한Я ")) and not is_spaceless("")
