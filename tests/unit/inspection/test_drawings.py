"""Pictures: they open, and what cannot be drawn is refused."""

from __future__ import annotations

import struct
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.conftest import without_shape_checks
from tests.unit.inspection.models import by_hand, demo, named, translator_of, words_of
from transduce.errors import InputError
from transduce.inspection import Recording, record
from transduce.inspection.fonts import FIRST, drawable, families_for
from transduce.inspection.pictures import draw

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
    with pytest.raises(InputError, match=r"a seq2seq model has no attention to draw: .*\(\.npz\), or the page"):
        draw(bare)


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
