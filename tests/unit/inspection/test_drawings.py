"""Pictures and report: they open, they hold the recorded numbers, and they need no network."""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.conftest import without_shape_checks
from tests.unit.inspection.models import by_hand, demo, named, translator_of, words_of
from transduce.errors import InputError
from transduce.inspection import Recording, attention_map, predictions, record
from transduce.inspection.fonts import FIRST, drawable, families_for
from transduce.inspection.pictures import draw
from transduce.inspection.report import fragment, page

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


@pytest.fixture(scope="module")
def recording() -> Recording:
    with without_shape_checks():
        return record(demo(), "我爱水课")


def pixels(png: bytes) -> tuple[int, int]:
    """Width and height of a picture whose data is as long as they say."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    assert (depth, colour) == (8, 6)
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    assert len(zlib.decompress(data)) == height * (4 * width + 1)
    return width, height


def test_pictures_of_one_head_one_layer_and_all(recording: Recording) -> None:
    sizes = []
    for choice in ({"place": "decoder.1.cross", "head": 3}, {"place": "decoder.1.cross"}, {}):
        width, height = pixels(draw(recording, **choice))  # type: ignore[arg-type]
        sizes.append(width * height)
    assert sizes[1] < sizes[2]


def test_an_svg_holds_the_glyphs_it_needs(recording: Recording) -> None:
    picture = draw(recording, place="decoder.1.cross", head=0, by="words", values="norms", form="svg")
    root = ElementTree.fromstring(picture)
    assert root.tag.endswith("svg")
    assert not list(root.iter("{http://www.w3.org/2000/svg}text")), "text as outlines needs no font"
    assert draw(recording, place="decoder.1.cross", head=0, by="words", values="norms", form="svg") == picture


def test_what_cannot_be_drawn_is_refused(recording: Recording) -> None:
    with pytest.raises(InputError, match=r"head 2 of which layer\? Name one of encoder\.0\.self, "):
        draw(recording, head=2)
    with pytest.raises(InputError, match=r"head 4 of decoder\.1\.cross: expected 0 to 3"):
        draw(recording, place="decoder.1.cross", head=4)
    bare = record(translator_of(named("seq2seq")), "我", target="I")
    with pytest.raises(InputError, match=r"a seq2seq model has no attention to draw: .*\(\.npz\), or a report"):
        draw(bare)
    assert "<h2>Attention</h2>" not in page(bare) and "encoder.context" in page(bare)


def test_a_long_sentence_does_not_make_an_endless_picture() -> None:
    weights = np.full((2, 201, 301), 1 / 301).tolist()
    tokenizer = words_of("a b")
    long = by_hand(weights, " ".join("a" * 300), " ".join("b" * 200), tokenizer)
    for choice in ({}, {"place": "decoder.0.cross", "head": 1}):
        assert max(pixels(draw(long, **choice))) < 6000  # type: ignore[arg-type]


def test_a_character_that_no_font_has_is_named() -> None:
    assert drawable("a\U000f1234b") == "aU+F1234 b" and drawable("\U000f1234") == "U+F1234"
    assert families_for(["abc\U000f1234"]) == [FIRST]
    assert drawable("aé→␣") == "aé→␣"
    tokenizer = words_of("a\U000f1234 b")
    # Warnings are errors: none about a missing glyph.
    draw(by_hand([[[0.5, 0.5]] * 2], "a\U000f1234", "b", tokenizer), place="decoder.0.cross", head=0)


class Cells(HTMLParser):
    """The exact numbers of each map, row by row, and every attribute that could fetch something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.maps: dict[str, list[list[float]]] = {}
        self.addresses: list[str] = []
        self.tags: set[str] = set()
        self._now: list[list[float]] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        of = dict(attributes)
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href", "srcset", "data")]
        if tag == "table":
            self._now = self.maps.setdefault(of["aria-label"] or "", []) if "aria-label" in of else None
        elif tag == "tr" and self._now is not None:
            self._now.append([])
        elif tag == "td" and self._now is not None:
            self._now[-1].append(float(of.get("title") or 0))


@pytest.mark.parametrize("by", ["pieces", "words"])
def test_the_report_holds_every_weight_of_every_head(recording: Recording, by: str) -> None:
    found = Cells(page(recording, by=by))  # type: ignore[arg-type]
    assert len(found.maps) == 6 * 4
    for place in recording.places:
        expected = attention_map(recording, place, by=by).values  # type: ignore[arg-type]
        for head, values in enumerate(expected):
            rows = found.maps[f"{place}, head {head}"][1:]
            np.testing.assert_allclose(rows, values, rtol=0, atol=5e-7)


def test_the_report_needs_no_network(recording: Recording) -> None:
    found = Cells(text := page(recording))
    assert found.addresses == [] and not found.tags & {"script", "link", "img", "iframe"}
    assert not re.search(r"url\(|@import|https?:", text)


def test_the_report_shows_thoughts_and_every_candidate(recording: Recording) -> None:
    text = page(recording)
    for step in predictions(recording, top=5):
        assert f"{np.exp(step.log_probability):.4f}" in text and f"{step.entropy:.3f}" in text
    assert recording.tree is not None
    for c in recording.tree.candidates:
        assert f">{c.total:.4f}<" in text and f">{c.score:.4f}<" in text
    assert text.count("<details><summary>Step ") == 5
    assert "ends here: result 1" in text and "<svg" in text


def test_what_people_type_is_text_in_the_report() -> None:
    text = page(record(demo(), "<script>alert(1)</script>&amp;", target="<b>\"'</b>"))
    assert {"script", "b"}.isdisjoint(Cells(text).tags)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;" in text


def test_a_notebook_shows_a_recording_without_a_document_around_it(recording: Recording) -> None:
    shown = recording._repr_html_()
    assert shown == fragment(recording)
    assert shown.startswith('<div class="transduce">') and "<html" not in shown


def test_a_recording_without_a_search_has_a_report_too(recording: Recording) -> None:
    text = page(replace(recording, tree=None))
    assert "Beam search" not in text and "What it thought of" in text
    labels = record(translator_of(named("feed-forward-concat")), "我爱水课", target="I love")
    assert labels.tree is None and "What it thought of" in page(labels)
