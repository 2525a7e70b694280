"""What a translation may not change, and what only looks like it."""

from __future__ import annotations

import re
import time

import pytest

from transduce.text.protected import Format, keeps, masked, meant, protected
from transduce.text.segments import sentence_spans


def texts(text: str, format: Format = "text", *, numbers: bool = True) -> list[str]:
    found = protected(text, format, numbers=numbers)
    assert [text[one.start : one.end] for one in found] == [one.text for one in found]
    return [one.text for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://a.org/x_(y)?q=1&r=%20#z. Or (www.b.de/c), ok", ["https://a.org/x_(y)?q=1&r=%20#z", "www.b.de/c"]),
        ("请看https://a.cn/b然后写信给me@x.co.uk吧", ["https://a.cn/b", "me@x.co.uk"]),
        ("{name} {} {0:.2f} {{ x }} ${y} #{z} %{w} {% if %}",
         ["{name}", "{}", "{0:.2f}", "{{ x }}", "${y}", "#{z}", "%{w}", "{% if %}"]),
        ("%s %(n)d %1$s %.2f %-5d %lu", ["%s", "%(n)d", "%1$s", "%.2f", "%-5d", "%lu"]),
        ("take 5 %d, 100% sure, 50 %, {a b}", ["5", "%d", "100%", "50 %"]),
        ("<b>x</b> <br/> <a href='y z'>q</a> <0>w</0>",
         ["<b>", "</b>", "<br/>", "<a href='y z'>", "</a>", "<0>", "</0>"]),
        ("a < b, c <d and e> f, x<5", ["5"]),
        ("on 2024-03-05 at 10:30, 1,000.50 or -5°, No.7", ["2024-03-05", "10:30", "1,000.50", "-5°", "7"]),
        ("我有3个，2024年3月5日，3万，3.5亿，第１２页", ["3", "2024", "5", "１２"]),
        ("the 3rd mp3 of the 1990s, B2B", []),
        ("Great 👍🏽 👩‍👧 🇧🇷 1️⃣ ❤️!", ["👍🏽", "👩‍👧", "🇧🇷", "1️⃣", "❤️"]),
        ("&amp; stays text", []),
    ],
)  # fmt: skip
def test_text(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>R&amp;D&nbsp;&#8211; don&#39;t, caf&eacute;</p>", ["<p>", "&amp;", "&nbsp;", "&#8211;", "</p>"]),
        ('<!-- wp:p {"a":1} --><br>', ['<!-- wp:p {"a":1} -->', "<br>"]),
        ("<code>x <b>y</b></code> <SCRIPT>a</SCRIPT>", ["<code>x <b>y</b></code>", "<SCRIPT>a</SCRIPT>"]),
        ("<a title='1 > 2' href=x>go</a>", ["<a title='1 > 2' href=x>", "</a>"]),
        ("&lt;b&gt; a < b", ["&lt;", "&gt;"]),
    ],
)
def test_html(text: str, expected: list[str]) -> None:
    assert texts(text, "html") == expected


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("text", "See {a. B} at www.x.org. Go.", ["See {a. B} at www.x.org.", "Go."]),
        ("text", "Go. {n} is here.", ["Go.", "{n} is here."]),
        ("text", "<i\nid='x. Y'>It is</i>. End.", ["It is</i>.", "End."]),
        ("html", "<h1>One</h1><p>Two <b>is.</b> Three", ["One", "Two <b>is.", "Three"]),
        ("html", "<p>\n\tone two\n\tthree.\n</p>", ["one two\n\tthree."]),
        ("html", "R&amp;D is it.&nbsp;Go <code>f. G</code> now.", ["R&amp;D is it.", "Go <code>f. G</code> now."]),
    ],
)
def test_sentences_of_what_is_masked(format: Format, text: str, expected: list[str]) -> None:
    stand_in = masked(text, protected(text, format), format)
    assert len(stand_in) == len(text)
    assert [text[start:end] for start, end in sentence_spans(stand_in, "en")] == expected


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("R&amp;D<br>a &lt;b&gt; caf&eacute;\n a < b", "R&D a <b> café a < b"),
        ("<!-- a\n --><STYLE>b {}</STYLE>c <script>d</script>", " c "),
        ("<pre>a <b title='1 > 2'>b</b></pre><code>c</code>", " a b c "),
    ],
)
def test_the_text_that_html_holds(markup: str, text: str) -> None:
    assert re.sub(" +", " ", meant(markup)) == text


def test_numbers_can_be_left_out() -> None:
    assert texts("3 of {n}", numbers=False) == ["{n}"]


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ("{a} and {b}", "{b} 和 {a}", True),
        ("{a} and {b}", "{a} 和", False),
        ("{a} {a}", "{a}", False),
        ("{a}", "{a} {a}", False),
        ("%s of %d", "%d 的 %s", False),
        ("%1$s of %2$d", "%2$d 的 %1$s", True),
        ("<b>x</b> <i>y</i>", "<b>x</b> <i>y</i>", True),
        ("<b>x</b> <i>y</i>", "<i>y</i> <b>x</b>", False),
        ("two", "2", True),
        ("3", "30", False),
        ("3 x", "3 y 4", True),
        ("👍 👎", "👎 👍", False),
        ("at a@b.org", "在 a@b.com", False),
        ("plain", "<b>", False),
    ],
)
def test_whether_all_is_kept(source: str, target: str, kept: bool) -> None:
    assert keeps(protected(source), protected(target)) is kept


@pytest.mark.parametrize(
    "text", ["<a", "{{", "http://(", "1,", "a@", "a.", "<a b='c' ", "%", "-", "a@b-", "👍\u200d", "{%", "&a"]
)
@pytest.mark.parametrize("format", ["text", "html"])
def test_no_text_takes_long(text: str, format: Format) -> None:
    start = time.process_time()
    protected(text * (20_000 // len(text)), format)
    meant(text * (20_000 // len(text)))
    assert time.process_time() - start < 2.0
