"""Long texts: what is guaranteed holds whatever the model answers, so the models here are the worst there are."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scripted_model import scripted
from transduce.text.protected import Format, protected
from transduce.translator import (
    Alternative,
    Document,
    Link,
    Translation,
    Translator,
    document_steps,
    translate_document,
)

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

Model = Callable[[str], str]

WORST: dict[str, Model] = {
    "forgets": lambda text: "",
    "garbles": lambda text: re.sub(r"[^\w\s]|\d", "", text).upper(),
    "repeats": lambda text: f"{text} {text}",
    "invents": lambda text: f"<script>{text}</script> & {{made}} %s https://x.org 7",
    "reverses": lambda text: text[::-1],
}


@pytest.fixture(scope="module")
def copier(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return scripted(tmp_path_factory.mktemp("copier"), lambda translator: lambda source: source, max_positions=71)


def document(
    translator: Translator, text: str, model: Model, format: Format = "text"
) -> tuple[Document, list[list[str]]]:
    """A text through a model that is no more than a function; and what that was asked, round by round."""
    steps = document_steps(translator, text, format=format)
    rounds = []
    try:
        asked = next(steps)
        while True:
            rounds.append(asked)
            asked = steps.send([Translation(one, (Alternative(model(one), -1.0, -2.0),)) for one in asked])
    except StopIteration as stop:
        return stop.value, rounds


TEXTS: list[tuple[Format, str]] = [
    ("text", "Go to https://a.org/b?c=d. Or write to me@x.org, please."),
    ("text", "Dear {name}, you have %d of {{ all }} and ${sum} in %(place)s, %s."),
    ("text", "A <b>bold</b> word and <a href='x y'>a link</a>."),
    ("text", "There are 3 of 1,000.50 at 10:30 on 2024-03-05."),
    ("text", "Great job 👍🏽 👩‍👧 🇧🇷 there."),
    ("text", "你好{name}，请看https://a.org/b，有3个。"),
    ("text", "{name}"),
    ("html", "<p>a &lt;b&gt; &amp; c&nbsp;d <em>e {f}</em></p>\n<!-- g 1 -->\n<script>h 2</script>"),
    ("html", '<a href="#"><em><span>See all</span></em> <em>blue boxes</em></a>'),
]


@pytest.mark.parametrize("model", WORST.values(), ids=WORST.keys())
@pytest.mark.parametrize(("format", "text"), TEXTS)
def test_what_must_not_change_is_there_in_its_order(
    copier: Translator, format: Format, text: str, model: Model
) -> None:
    wanted = [one.text for one in protected(text, format)]
    found, rounds = document(copier, text, model, format)
    assert len(rounds) <= 2
    at = 0
    for one in wanted:
        assert one in found.text[at:]
        at = found.text.index(one, at) + len(one)
    if format == "html":
        tags = [one.text for one in protected(text, format) if one.kind in ("opening", "closing")]
        assert [one.text for one in protected(found.text, format) if one.kind in ("opening", "closing")] == tags


@pytest.mark.parametrize("model", WORST.values(), ids=WORST.keys())
def test_lines_indentation_and_spaces_between_sentences_stay(copier: Translator, model: Model) -> None:
    text = "\n  One is here.  Two is.\r\n\n\t- three\rfour \n\n"
    found, _ = document(copier, text, model)
    one, two, three = (model(s) for s in ("One is here.", "Two is.", "three\rfour"))
    assert found.text == f"\n  {one}  {two}\r\n\n\t- {three} \n\n"


def test_a_sentence_is_whole_where_the_model_keeps_it(copier: Translator) -> None:
    found, rounds = document(copier, "I see {n} of 3. And you?", lambda text: text.replace("see", "look at"))
    assert found.text == "I look at {n} of 3. And you?"
    assert rounds == [["I see {n} of 3.", "And you?"]]
    assert [one.in_parts for one in found.sentences] == [False, False]


def test_otherwise_the_parts_around_it_are_translated(copier: Translator) -> None:
    found, rounds = document(copier, "I see {n} now. And you?", lambda text: re.sub(r"\W", "", text).upper())
    assert found.text == "ISEE {n} NOW ANDYOU"
    assert rounds == [["I see {n} now.", "And you?"], ["I see", "now."]]
    assert [one.in_parts for one in found.sentences] == [True, False]


def test_an_alternative_that_keeps_it_is_better_than_parts(copier: Translator) -> None:
    steps = document_steps(copier, "See {n}.")
    assert next(steps) == ["See {n}."]
    texts = ("Look", "Look at {n}", "At {m}")
    with pytest.raises(StopIteration) as stop:
        steps.send(
            [Translation("See {n}.", tuple(Alternative(t, 0.0, 0.0) for t in texts), (Link(0, 3, 0, 4, 1.0, 1.0),))]
        )
    (one,) = stop.value.value.sentences
    assert [each.text for each in one.translation.alternatives] == ["Look at {n}"]
    assert not one.in_parts and one.translation.alignment == (), "the links were those of another alternative"


def test_places_of_sentences_and_links(copier: Translator) -> None:
    text = "\n 你好。再见{n}了。 I go."
    answers = {"你好。": "Hi.", "再见{n}了。": "Bye", "再见": "So long", "了。": "then.", "I go.": "Go!"}
    steps = document_steps(copier, text)
    asked = next(steps)
    try:
        while True:
            asked = steps.send(
                [
                    Translation(one, (Alternative(answers[one], 0.0, 0.0),), (Link(0, 1, 0, 2, 0.5, 0.5),))
                    for one in asked
                ]
            )
    except StopIteration as stop:
        found = stop.value
    assert found.text == "\n Hi. So long {n} then. Go!"
    places = [(s.source_start, s.source_end, s.target_start, s.target_end) for s in found.sentences]
    assert [(text[a:b], found.text[c:d]) for a, b, c, d in places] == [
        ("你好。", "Hi."), ("再见{n}了。", "So long {n} then."), ("I go.", "Go!"),
    ]  # fmt: skip
    links = [
        (text[x.source_start : x.source_end], found.text[x.target_start : x.target_end])
        for x in found.translation.alignment
    ]
    assert links == [("你", "Hi"), ("再", "So"), ("了", "th"), ("I", "Go")]


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("爱。爱。", "Love.", "Love. Love."),
        ("爱{n}爱", "love", "love {n} love"),
        ("爱<b>爱</b>爱", "love", "love <b>love</b> love"),
        ("爱{n}，爱", "love", "love {n} love"),
        ("I <b>love</b>it {n}.", "爱", "爱 <b>爱</b>爱 {n}."),
        ("love{n}love", "x", "x{n}x"),
        ("爱{n}爱", "爱", "爱{n}爱"),
    ],
)
def test_a_space_where_only_the_target_needs_one(copier: Translator, text: str, answer: str, expected: str) -> None:
    found, _ = document(copier, text, lambda asked: answer if any(map(str.isalpha, asked)) else asked)
    assert found.text == expected


@given(
    text=st.lists(
        st.one_of(
            st.text(max_size=5),
            st.sampled_from(["a. ", "B ", "。", "\n", "\r\n", "{n}", "<b>", "</b>", "3 ", "%s", "a@b.org "]),
        ),
        max_size=13,
    ).map("".join)
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_model_that_copies_gives_the_text_back(copier: Translator, text: str) -> None:
    found, rounds = document(copier, text, lambda asked: asked)
    assert (
        found.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") or "\ufffd" not in found.text
    )
    assert found.text == text
    for one in (asked for asks in rounds for asked in asks):
        assert one == one.strip() and one and "\n" not in one


def test_a_document_through_a_real_translator_with_sentences_longer_than_it_takes(copier: Translator) -> None:
    limit = copier.longest_source(copier.decoding())
    text = f"the cat is big . {'red and blue , ' * 71}green .\n\n{'水' * 153}\n{{n}} dog\n"
    assert len(copier.tokenizers.source.encode(text.split("\n")[0])) > 5 * limit
    found = translate_document(copier, text, alignment=True, max_extra=71)
    assert found.text == text
    assert found.translation.source == text
    assert len(found.sentences) > 10


def test_html_is_escaped_and_entities_of_words_are_understood(copier: Translator) -> None:
    text = "<p>It&#39;s a\n caf&eacute; of &lt;x&gt; a < b</p>"
    found, rounds = document(copier, text, lambda asked: f"{asked} & <i>", "html")
    assert rounds == [["It's a café of &lt;x&gt; a < b"], ["It's a café of", "x", "a < b"]]
    assert found.text == ("<p>It's a café of &amp; &lt;i&gt; &lt;x &amp; &lt;i&gt;&gt; a &lt; b &amp; &lt;i&gt;</p>")


@pytest.mark.parametrize("text", ["<p>it is</p>", "<p>it <b>is</b></p>"])
def test_what_a_model_writes_is_text_in_html(copier: Translator, text: str) -> None:
    found, rounds = document(copier, text, lambda asked: f"{asked} & R < D", "html")
    assert "&amp; R &lt; D" in found.text and "& R" not in found.text and " < " not in found.text
    assert len(rounds) == (1 if "<b>" not in text else 2), "without markup inside nothing is asked again"


def test_case_181_escaped_markup_stays_escaped(copier: Translator) -> None:
    text = "<p>use &lt;script&gt;alert(1)&lt;/script&gt; &amp;amp; go</p>"
    for model in (str.upper, html.unescape, lambda asked: html.unescape(html.unescape(asked))):
        found, _ = document(copier, text, model, "html")
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;" in found.text.lower()
        assert "<script" not in found.text.lower()


def test_case_179_white_space_in_html_means_a_space(copier: Translator) -> None:
    for text in ("<p>\n\tone two\n\tthree.\n</p>", "<p>one two three.</p>"):
        found, rounds = document(copier, text, str.upper, "html")
        assert rounds == [["one two three."]]
        assert found.text.split() == text.upper().replace("P>", "p>").split()


def test_case_187_emoji_come_back_in_their_sequence(copier: Translator) -> None:
    found, _ = document(copier, "Great job 👍🏽 👩‍👧 🇧🇷", lambda asked: "Bien ?")
    assert re.sub(r"[^\u200d\U0001f000-\U0001faff ]", "", found.text).split() == ["👍🏽", "👩‍👧", "🇧🇷"]


def test_case_184_line_feeds_are_kept_and_a_lone_carriage_return_is_text(copier: Translator) -> None:
    found, rounds = document(copier, "one\r\ntwo\rthree", str.upper)
    assert found.text == "ONE\r\nTWO\rTHREE" and rounds == [["one", "two\rthree"]]


@pytest.mark.parametrize("text", ["a ((newline)) b", "a ｟newline｠ b"])
def test_case_185_a_placeholder_of_other_programs_is_text(copier: Translator, text: str) -> None:
    assert document(copier, text, lambda asked: asked)[0].text == text


def test_a_run_that_changes_numbers_is_let(copier: Translator) -> None:
    steps = document_steps(copier, "on 3.", without_letters="translate")
    assert next(steps) == ["on 3."]
    with pytest.raises(StopIteration) as stop:
        steps.send([Translation("on 3.", (Alternative("three", 0.0, 0.0),))])
    assert stop.value.value.text == "three"
