"""Positions, and one word in two sentences."""

from __future__ import annotations

import math

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.support.served import listening
from tests.unit.inspection.models import demo as new_demo
from tests.unit.inspection.models import named, translator_of
from tests.web.conftest import WIDTHS, OpenPage
from tests.web.inside import SENTENCE, asked, held_against, look
from transduce.inspection import record, similarities
from transduce.serving.service import Served

SECOND = "我每天喝水"


def compared(page: Page, first: str, second: str, word: str) -> None:
    """The cosines on the page are those of Python."""
    translator = new_demo()
    expected = similarities(record(translator, first), record(translator, second), word)
    stages = page.locator(".stages li")
    expect(stages).to_have_count(len(expected))
    for stage, of in zip(stages.all(), expected, strict=True):
        expect(stage.locator("code")).to_have_text(of.place)
        assert float(stage.locator(".n").get_attribute("data-value") or "") == pytest.approx(of.cosine, abs=1e-6)


def readout(page: Page) -> float:
    return float(page.locator(".readout .n").get_attribute("data-value") or "")


def test_a_position_is_read_by_slider_and_by_pointing(open_page: OpenPage, demo_server: str) -> None:
    page = look(open_page, "positions")
    page.locator("#positions-place-0").fill("5")
    page.locator("#positions-dimension-0").fill("7")
    expect(page.locator(".readout code")).to_have_text("PE(5, 6+1) = cos(5 / 10000^(6/128))")
    assert readout(page) == pytest.approx(math.cos(5 / 10000 ** (6 / 128)), abs=1e-6)
    page.locator("#positions-dimension-0").focus()
    page.keyboard.press("ArrowRight")
    assert readout(page) == pytest.approx(math.sin(5 / 10000 ** (8 / 128)), abs=1e-6)
    box = page.locator(".places").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + (100 + 0.5) / 128 * box["width"], box["y"] + (40 + 0.5) / 48 * box["height"])
    assert readout(page) == pytest.approx(math.sin(40 / 10000 ** (100 / 128)), abs=1e-6)
    page.locator("#positions-place-0").fill("2")
    expect(page.locator(".readout .piece")).to_have_text("水")


def test_similarities_of_positions_are_a_table_for_the_keyboard(open_page: OpenPage, demo_server: str) -> None:
    page = look(open_page, "positions")
    expect(page.locator(".stages")).to_be_visible()
    cells = page.locator(".heat.medium td.n")
    assert cells.count() == 24 * 24
    payload = asked(demo_server)
    payload["views"]["contexts"] = httpx.post(
        f"{demo_server}/inspect/contexts", json={"run": "demo", "first": SENTENCE, "second": SECOND}
    ).json()
    held_against(page, payload)
    cells.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.index") == "1,23"
    turned = sum(math.cos(22 / 10000 ** (2 * i / 128)) for i in range(64)) / 64
    assert page.evaluate("Number(document.activeElement.dataset.value)") == pytest.approx(turned, abs=1e-5)


def test_water_in_two_sentences_is_shown_at_once(open_page: OpenPage) -> None:
    page = look(open_page, "positions")
    expect(page.locator(".sentence").nth(1)).to_contain_text(f"{SECOND} → I drink water every day")
    # Of the words in both, the one whose meaning moves most is chosen: 水, not 我.
    expect(page.locator("#word-水")).to_have_attribute("aria-pressed", "true")
    assert page.locator("mark").all_inner_texts() == ["水", "水"]
    compared(page, SENTENCE, SECOND, "水")
    page.click("#word-我")
    expect(page.locator("mark").first).to_have_text("我")
    compared(page, SENTENCE, SECOND, "我")


def test_any_other_sentence_can_stand_beside_it(open_page: OpenPage) -> None:
    page = look(open_page, "positions")
    expect(page.locator(".stages")).to_be_visible()
    page.fill("#positions-second", "这西瓜水真多")
    page.keyboard.press("Enter")
    expect(page.locator(".sentence").nth(1)).to_contain_text("这西瓜水真多")
    compared(page, SENTENCE, "这西瓜水真多", "水")
    page.fill("#positions-second", "他们")
    page.click(".second button")
    expect(page.locator(".view-positions")).to_contain_text("No word stands in both sentences")


def test_a_refusal_is_told(open_page: OpenPage) -> None:
    page = look(open_page, "positions", errors="422|Failed to load")
    expect(page.locator(".stages")).to_be_visible()
    page.fill("#positions-second", "水" * 499)
    page.route("**/inspect/contexts", lambda route: route.fulfill(status=422, json={"error": "too long"}))
    page.click(".second button")
    expect(page.locator(".view-positions")).to_contain_text("too long")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("learned-positions", "31 positions in 26 dimensions: a vector for each"),
        ("scalar-positions", "the number of the position, in dimension 0 alone"),
        ("no-positions", "This model adds no positions. What it knows of the order"),
        ("seq2seq", "It reads one word after another"),
    ],
)
def test_other_models_say_what_they_have(open_page: OpenPage, name: str, words: str) -> None:
    with listening(Served.of("other", translator_of(named(name)))) as (client, _):
        server = str(client.base_url).rstrip("/")
        page = look(open_page, "positions", run="other", server=server)
        expect(page.locator(".view-positions")).to_contain_text(words)
        expect(page.locator(".stages")).to_be_visible()
        assert page.locator("section.positions").count() == (0 if "no positions" in words or "one word" in words else 1)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_phone_the_page_stays_as_wide_as_the_screen(open_page: OpenPage, language: str) -> None:
    page = look(open_page, "positions", language=language, width=WIDTHS["phone"], scheme="dark")
    expect(page.locator(".stages")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS["phone"]
