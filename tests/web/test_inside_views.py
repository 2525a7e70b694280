"""Look inside by mouse, by keyboard and in both languages: what a reader can do there, and what is said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.served import listening
from tests.web.conftest import WIDTHS, OpenPage
from transduce.demo.shipped import RUN
from transduce.serving.service import Served
from transduce.translator import Translator

VIEWS = ("walk", "attention", "query")


def inside(open_page: OpenPage, view: str = "walk", values: str = "", **options: Any) -> Page:
    page = open_page(f"/#inside/{view}?text=我爱水课{values}", **options)
    page.wait_for_selector(f"#view .view-{view}")
    return page


def test_a_sentence_is_typed_and_looked_into(open_page: OpenPage) -> None:
    page = open_page("/#inside")
    # The run's own sentence is there to begin with.
    expect(page.locator("#headline")).to_have_text("我爱水课 → I love easy courses")
    page.fill("#text", "水有毒")
    page.keyboard.press("Enter")
    expect(page.locator("#headline")).to_contain_text("水有毒 → ")
    expect(page.locator("#headline")).to_contain_text("poisonous")
    page.reload()
    expect(page.locator("#headline")).to_contain_text("水有毒 → ")
    assert page.input_value("#text") == "水有毒"


def test_steps_say_what_was_read_and_what_is_written(open_page: OpenPage) -> None:
    page = inside(open_page)
    steps = page.locator("#view .strides button")
    assert steps.all_inner_texts() == [
        "has read <s> → writes I", "has read I → writes love", "has read love → writes easy",
        "has read easy → writes courses", "has read courses → writes </s>",
    ]  # fmt: skip
    chinese = inside(open_page, language="zh")
    assert chinese.locator("#view .strides button").all_inner_texts()[1] == "已读 I → 写出 love"


def test_arrow_keys_walk_the_stages_and_the_address_keeps_them(open_page: OpenPage) -> None:
    page = inside(open_page)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#view .stage h2")).to_have_text("Pieces and their numbers")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#view .stage h2")).to_have_text("Self-attention")
    assert "stage=3" in page.url
    page.reload()
    expect(page.locator("#view .stage h2")).to_have_text("Self-attention")
    # In a field they move the caret.
    page.focus("#text")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#view .stage h2")).to_have_text("Self-attention")


def test_focus_stays_where_it_was_when_the_page_is_drawn_anew(open_page: OpenPage) -> None:
    page = inside(open_page)
    page.focus("#stage-on")
    page.keyboard.press("Enter")
    expect(page.locator("#stage-on")).to_be_focused()
    page.click("#step-3")
    expect(page.locator("#step-3")).to_be_focused()


def test_no_layer_and_no_head_is_chosen_for_the_reader(open_page: OpenPage) -> None:
    page = inside(open_page, "attention")
    assert page.locator('#view [aria-pressed="true"]').count() == 0 and page.locator("#view .heat").count() == 0
    expect(page.locator("#view")).to_contain_text("None is chosen for you")
    expect(page.locator("#view .note")).to_contain_text("where the model read, not why")
    page.click('[id="place-decoder.1.cross"]')
    expect(page.locator("#view figcaption")).to_contain_text("mean over all heads")
    expect(page.locator("#view figcaption")).to_contain_text("Until you pick a head")


def test_a_map_is_a_table_that_the_keyboard_walks(open_page: OpenPage) -> None:
    page = inside(open_page, "attention", "&place=decoder.1.cross&head=2")
    page.locator("#view .heat td.n").first.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "End", "ArrowLeft"):
        page.keyboard.press(key)
    focused = page.locator("#view .heat td:focus")
    expect(focused).to_have_attribute("data-index", "2,2,3")
    assert page.locator('#view .heat td[tabindex="0"]').count() == 1
    page.keyboard.press("Enter")
    expect(page.locator("#view .reading h3")).to_have_text("love → easy reads")
    expect(page.locator("#view .heat td:focus")).to_have_attribute("data-index", "2,2,3")


def test_a_word_is_deleted_and_the_translation_changes(open_page: OpenPage) -> None:
    page = inside(open_page, "attention", "&place=decoder.1.cross")
    page.click("#without-2")
    rows = page.locator("#view .without-table tr")
    expect(rows).to_have_count(2)
    assert rows.nth(0).locator("td").all_inner_texts() == ["我爱水课", "I love easy courses"]
    sentence, translation = rows.nth(1).locator("td").all_inner_texts()
    assert sentence == "我爱课" and "easy" not in translation
    expect(page.locator("#view .without")).to_contain_text("Without 水 the translation is another.")


def test_a_masked_query_hides_what_is_ahead(open_page: OpenPage) -> None:
    page = inside(open_page, "query", "&place=decoder.0.self&head=1&row=2")
    rows = page.locator("#view .scores tbody tr")
    weights = [row.locator("td.n, td .n").nth(4).get_attribute("data-value") for row in rows.all()]
    assert weights[3:] == ["0", "0"] and float(weights[2] or 0) > 0
    assert [row.locator(".n").nth(2).inner_text() for row in rows.all()][3:] == ["−∞", "−∞"]


def test_a_mistake_is_said_and_the_page_goes_on(open_page: OpenPage) -> None:
    page = open_page("/#inside", errors="422|400")
    page.wait_for_selector("#view .walk")
    page.click("summary >> nth=0")
    page.fill("#beam", "11")
    page.click("#ask .primary")
    expect(page.locator("#status.failed")).to_contain_text("up to 10")
    page.fill("#beam", "1")
    page.click("#ask .primary")
    expect(page.locator("#status")).to_have_text("")
    expect(page.locator("#status.failed")).to_have_count(0)


@pytest.fixture(scope="module")
def two_runs(demo: Translator) -> Iterator[str]:
    with listening(Served.of("demo", demo, RUN), Served.of("other", demo)) as (client, _):
        yield str(client.base_url).rstrip("/")


def test_another_run_can_be_chosen(open_page: OpenPage, two_runs: str) -> None:
    page = open_page("/#inside", server=two_runs)
    page.click("summary >> nth=0")
    page.select_option("#run", "other")
    page.fill("#text", "水有毒")
    page.click("#ask .primary")
    expect(page.locator("#headline")).to_contain_text("poisonous")
    assert "run=other" in page.url


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_is_wider_than_a_phone(open_page: OpenPage, view: str, language: str) -> None:
    for values in ("", "&place=decoder.1.cross&row=2&stage=4"):
        page = inside(open_page, view, values, width=WIDTHS["phone"], language=language)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_can_be_read_on_every_colour(open_page: OpenPage, scheme: str) -> None:
    page = inside(open_page, "attention", "&place=decoder.1.self&head=0", scheme=scheme)
    worst = page.evaluate(
        """() => {
      const cell = document.querySelector("#view .heat td.n");
      const channels = (colour) => /^color\\(srgb/.test(colour) ? colour.match(/[\\d.]+/g).slice(0, 3).map(Number)
        : colour.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255);
      const light = (colour) => channels(colour).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
      let worst = Infinity;
      for (let v = 0; v <= 1.0001; v += 0.01) for (const minus of [false, true]) {
        cell.style.setProperty("--v", v);
        const kinds = [["bright", v > 0.62], ["strong", v > 0.71], ["minus", minus]];
        for (const [name, on] of kinds) cell.classList.toggle(name, on);
        const style = getComputedStyle(cell);
        const [a, b] = [light(style.color), light(style.backgroundColor)].sort((x, y) => y - x);
        worst = Math.min(worst, (a + 0.05) / (b + 0.05));
      }
      return worst;
    }"""
    )
    assert worst >= 4.5
