"""The page's words: the same keys in both languages, with the same gaps to fill, and none that nothing says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from transduce.page import FOLDER

LANGUAGES = ("en", "zh")
ENTRY = re.compile(r'^  (?P<key>\w+): "(?P<words>(?:[^"\\]|\\.)*)",$', re.MULTILINE)


def words(language: str) -> dict[str, str]:
    text = (FOLDER / "js" / "strings" / f"{language}.js").read_text(encoding="utf-8")
    found = [(match["key"], match["words"]) for match in ENTRY.finditer(text)]
    assert len(found) == len(dict(found)), "a key comes twice"
    body = text[text.index("{") + 1 : text.rindex("}")]
    left = [line for line in ENTRY.sub("", body).split("\n") if line.strip() and not line.strip().startswith("//")]
    assert left == [], "each entry is a line of its own, so that it can be read here"
    return dict(found)


def scripts() -> list[Path]:
    return [path for path in sorted((FOLDER / "js").rglob("*.js")) if path.parent.name != "strings"]


def said() -> tuple[set[str], list[re.Pattern[str]]]:
    """What may be a key in scripts and page: whole strings, and patterns of those that are put together."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in [*scripts(), FOLDER / "index.html"])
    whole = set(re.findall(r'"(\w+)"', text)) | set(re.findall(r"`(\w+)`", text))
    templates = re.findall(r"`((?:\w|\$\{[^{}`]*\})+)`", text)
    parts = (re.split(r"\$\{[^{}]*\}", template) for template in templates if "${" in template)
    return whole, [re.compile(r"\w+".join(map(re.escape, each))) for each in parts if any(map(str.strip, each))]


def test_both_languages_have_the_same_keys_in_the_same_order() -> None:
    assert list(words("en")) == list(words("zh"))


def test_both_have_the_same_gaps_to_fill() -> None:
    english, chinese = words("en"), words("zh")
    for key in english:
        assert set(re.findall(r"\{\w+\}", english[key])) == set(re.findall(r"\{\w+\}", chinese[key])), key


def test_no_words_are_empty_and_chinese_ones_are_chinese() -> None:
    for language in LANGUAGES:
        assert [key for key, value in words(language).items() if not value.strip()] == []
    english, chinese = words("en"), words("zh")
    # Names and formulas are the same in both.
    same = [key for key, value in chinese.items() if value == english[key] and re.search(r"[a-z]{3,} [a-z]{3,}", value)]
    assert same == []


def test_no_words_are_left_over() -> None:
    whole, patterns = said()
    unused = [key for key in words("en") if key not in whole and not any(p.fullmatch(key) for p in patterns)]
    assert unused == []


@pytest.mark.parametrize("path", scripts(), ids=lambda path: path.name)
def test_what_a_script_says_has_words(path: Path) -> None:
    known = words("en")
    text = path.read_text(encoding="utf-8")
    asked = re.findall(r'\bt\("(\w+)"', text) + re.findall(r'"?data-t(?:-\w+)?"?: "(\w+)"', text)
    assert [key for key in asked if key not in known] == []


def test_the_page_itself_has_words() -> None:
    known = words("en")
    text = (FOLDER / "index.html").read_text(encoding="utf-8")
    asked = re.findall(r'data-t(?:-\w+)?="(\w+)"', text)
    assert asked and [key for key in asked if key not in known] == []
