"""The page's files fit together, and one file holds all that it needs."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from transduce.page import FOLDER, PAYLOAD, document

SCRIPTS = sorted(FOLDER.glob("js/**/*.js"))
_PAIR = re.compile(r'^  (\w+): "((?:[^"\\]|\\.)*)",$', re.MULTILINE)


class Parts(HTMLParser):
    """Scripts by their type, and every address that a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: dict[str, str] = {}
        self.addresses: list[str] = []
        self.title = ""
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        of = dict(attributes)
        self._in = of.get("type") or "" if tag == "script" else tag
        if tag != "a":
            self.addresses += [value or "" for name, value in attributes if name in ("src", "href", "srcset")]

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "title":
            self.title += data
        elif "/" in self._in or self._in in ("importmap", "module"):
            self.scripts[self._in] = data


def words(language: str) -> dict[str, str]:
    return dict(_PAIR.findall((FOLDER / f"js/strings/{language}.js").read_text(encoding="utf-8")))


def imported(code: str) -> list[str]:
    found = re.findall(r'^import [^"\n]*"([^"]+)"|\bimport\("([^"]+)"\)', code, re.MULTILINE)
    return [name or later for name, later in found]


def test_every_word_that_is_asked_for_is_there() -> None:
    english = words("en")
    asked = set(re.findall(r'data-t(?:-\w+)?="(\w+)"', (FOLDER / "index.html").read_text(encoding="utf-8")))
    for script in SCRIPTS:
        asked |= set(re.findall(r'\bt\("(\w+)"', script.read_text(encoding="utf-8")))
    assert asked - set(english) == set()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_modules_import_only_their_neighbours(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    for name in imported(text):
        assert name.startswith(("./", "../")) and (script.parent / name).resolve().is_file()
    assert not re.search(r"https?://(?!www\.w3\.org/)|\beval\(|new Function|innerHTML|\.style\.cssText", text)


def test_nothing_in_the_markup_needs_a_laxer_policy() -> None:
    text = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?! type=\"module\" src=)", text)
    for path in FOLDER.glob("*.css"):
        assert not re.search(r"@import|url\(|https?:", path.read_text(encoding="utf-8"))


def test_one_file_holds_all_modules_and_styles_and_fetches_nothing() -> None:
    payload = {"notes": {"text": "</script><script>alert(1)</script><!-- favicon.svg"}}
    parts = Parts(document([payload], "a </title> & b", values={"unit": "words"}))
    assert parts.title == "a </title> & b"
    assert json.loads(parts.scripts["application/json"]) == {"recordings": [payload], "values": {"unit": "words"}}
    assert all(address.startswith("data:") for address in parts.addresses)
    modules = json.loads(parts.scripts["importmap"])["imports"]
    kept = [path for path in SCRIPTS if "translate" not in path.relative_to(FOLDER).as_posix()]
    assert set(modules) == {f"transduce/{path.relative_to(FOLDER).as_posix()}" for path in kept}
    for address in modules.values():
        code = base64.b64decode(address.split(",", 1)[1]).decode()
        assert {name for name in imported(code) if "translate" not in name} <= set(modules)


def test_without_recordings_a_place_is_left_for_them() -> None:
    assert document().count(f">{PAYLOAD}<") == 1
    share = (FOLDER / "js/share.js").read_text(encoding="utf-8")
    assert f'"{PAYLOAD}"' in share
