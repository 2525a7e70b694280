"""All heads at a glance: their numbers, opening one, and what is written without some."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.served import listening
from tests.unit.inspection.models import demo as new_demo
from tests.unit.inspection.models import named, translator_of
from tests.web.conftest import WIDTHS, OpenPage
from tests.web.inside import SENTENCE, asked, held_against, look
from transduce.inspection import record, summaries, without_head
from transduce.serving.service import Served


def test_every_head_is_there_with_its_three_numbers(open_page: OpenPage, demo_server: str) -> None:
    page = look(open_page, "heads")
    numbers = held_against(page, asked(demo_server))
    heads = summaries(record(new_demo(), SENTENCE))
    assert len(heads) == 6 * 4 == page.locator(".thumb").count()
    told = {number["from"]: float(number["value"]) for number in numbers}
    for i, head in enumerate(heads):
        assert told[f"views.heads.{i}.confidence"] == pytest.approx(head.confidence)
        assert told[f"views.heads.{i}.entropy"] == pytest.approx(head.entropy)
        assert told[f"views.heads.{i}.offset"] == head.offset


def test_a_picture_is_as_dark_as_the_weights(open_page: OpenPage, demo_server: str) -> None:
    page = look(open_page, "heads")
    weights = record(new_demo(), SENTENCE).tensors["decoder.0.cross.weights"][0]
    cells = page.locator('[id="head-decoder.0.cross-0"] path').evaluate_all(
        "all => all.flatMap((p) => [...p.getAttribute('d').matchAll(/M(\\d+) (\\d+)/g)]"
        ".map((m) => [+m[2], +m[1], +p.getAttribute('fill-opacity')]))"
    )
    drawn = {(r, c): opacity for r, c, opacity in cells}
    for r in range(weights.shape[0]):
        for c in range(weights.shape[1]):
            assert drawn.get((r, c), 0.0) == pytest.approx(float(weights[r, c]), abs=1 / 24 + 1e-3)


def test_a_head_opens_in_the_attention_view(open_page: OpenPage) -> None:
    page = look(open_page, "heads")
    page.locator('[id="head-decoder.1.cross-3"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator(".view-attention")).to_be_visible()
    assert "place=decoder.1.cross" in page.url and "head=3" in page.url


def test_without_a_head_the_translation_changes(open_page: OpenPage, demo_server: str) -> None:
    expected = without_head(new_demo(), SENTENCE, "encoder.0.self", 1)
    page = look(open_page, "heads")
    expect(page.locator("#heads-result")).to_contain_text("All heads are on")
    page.locator('[id="off-encoder.0.self-1"]').focus()
    page.keyboard.press("Space")
    expect(page.locator("#heads-after strong")).to_have_text(expected.after)
    expect(page.locator("#heads-after")).to_contain_text("changed" if expected.changed else "the same")
    off = [["encoder.0.self", 1]]
    forced = asked(demo_server, without_heads=off, target="I love easy courses")
    before = asked(demo_server)
    numbers = held_against(page, before, without=forced)
    rows = page.locator(".deltas tbody tr")
    assert rows.count() == 5 + 1
    change = forced["views"]["next"]["total"] - before["views"]["next"]["total"]
    assert change < -0.001
    expect(rows.last.locator(".plain")).to_have_text(f"{change:.3f}".replace("-", "−"))
    assert sum(number["recording"] == "without" for number in numbers) == 6
    # On again.
    page.locator('[id="off-encoder.0.self-1"]').click()
    expect(page.locator("#heads-result")).to_contain_text("All heads are on")


def test_several_heads_are_off_together(open_page: OpenPage, demo_server: str) -> None:
    page = look(open_page, "heads")
    off = [["decoder.1.cross", head] for head in range(4)]
    for place, head in off:
        page.locator(f'[id="off-{place}-{head}"]').click()
    expected = asked(demo_server, without_heads=off)["notes"]["streams"]["expected"]["text"]
    assert expected != "I love easy courses"
    expect(page.locator("#heads-after strong")).to_have_text(expected)
    expect(page.locator("#heads-after")).to_contain_text("changed")


def test_a_refusal_is_told(open_page: OpenPage) -> None:
    page = look(open_page, "heads", errors="503|Failed to load")
    page.route("**/inspect/record", lambda route: route.fulfill(status=503, json={"error": "too much to do"}))
    page.locator('[id="off-encoder.0.self-1"]').click()
    expect(page.locator("#heads-result")).to_contain_text("too much to do")


@pytest.mark.parametrize("name", ["rnn-search", "bert", "gpt", "convs2s"])
def test_heads_of_other_models(open_page: OpenPage, name: str) -> None:
    with listening(Served.of("other", translator_of(named(name)))) as (client, _):
        server = str(client.base_url).rstrip("/")
        page = look(open_page, "heads", run="other", server=server)
        payload = asked(server, run="other")
        held_against(page, payload)
        first = payload["views"]["heads"][0]
        page.locator(f'[id="off-{first["place"]}-0"]').click()
        expect(page.locator("#heads-after, .failed")).to_be_visible()
        after = asked(server, run="other", without_heads=[[first["place"], 0]])
        expect(page.locator("#heads-after strong")).to_have_text(after["notes"]["streams"]["expected"]["text"].strip())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_phone_the_page_stays_as_wide_as_the_screen(open_page: OpenPage, language: str) -> None:
    page = look(open_page, "heads", language=language, width=WIDTHS["phone"], scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS["phone"]
