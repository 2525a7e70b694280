"""The beam search as a tree: its numbers, how it grows, and forcing a branch."""

from __future__ import annotations

import math

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.support.served import listening
from tests.unit.inspection.models import named, translator_of
from tests.web.conftest import WIDTHS, OpenPage
from tests.web.inside import SENTENCE, asked, held_against, look
from transduce.serving.service import Served


def nodes(page: Page) -> set[int]:
    return {int(n) for n in page.locator(".tree .node").evaluate_all("all => all.map((n) => n.dataset.number)")}


def test_every_candidate_is_there_with_its_numbers_and_its_fate(open_page: OpenPage, demo_server: str) -> None:
    page, payload = look(open_page, "tree"), asked(demo_server)
    for step in range(1, 5):
        page.locator(f"#tree-table-{step} summary").click()
    numbers = held_against(page, payload)
    candidates = payload["notes"]["tree"]["candidates"]
    told = {number["from"] for number in numbers}
    for i in range(len(candidates)):
        assert {f"notes.tree.candidates.{i}.{of}" for of in ("log_probability", "total", "penalty", "score")} <= told
    rows = page.locator(".candidates tbody tr")
    assert rows.count() == len(candidates)
    fates = {c["fate"] for c in candidates}
    assert fates == {"lives", "finished", "beam", "stopped"}
    for words in ("goes on", "ends here as result 1", "the beam is full", "nothing better could come"):
        assert page.locator(".candidates td", has_text=words).count() > 0


def test_the_way_to_the_result_adds_up(open_page: OpenPage, demo_server: str) -> None:
    page = look(open_page, "tree")
    way = [float(n.get_attribute("data-value") or "") for n in page.locator(".sums td:not(.total) .n").all()]
    total, penalty, score = (float(n.get_attribute("data-value") or "") for n in page.locator(".tree-score .n").all())
    assert len(way) == 5 and sum(way) == pytest.approx(total, abs=1e-6)
    assert score == pytest.approx(total / penalty, abs=1e-6)
    (best,) = (c for c in asked(demo_server)["notes"]["tree"]["candidates"] if c["rank"] == 1)
    assert score == best["score"]


def test_it_grows_with_the_slider_the_arrow_keys_and_by_itself(open_page: OpenPage, demo_server: str) -> None:
    candidates = asked(demo_server)["notes"]["tree"]["candidates"]
    page = look(open_page, "tree")

    def grown(step: int) -> None:
        expect(page.locator(".tree-slider span")).to_have_text(f"Step {step} of 5")
        kept = {c["number"] for c in candidates if c["step"] <= step and c["fate"] in ("lives", "finished")}
        dropped = [c["number"] for c in candidates if c["step"] == step and c["fate"] in ("beam", "stopped")]
        assert nodes(page) == kept | set(dropped[:5])

    grown(5)
    page.locator("#tree-step").fill("1")
    grown(1)
    page.locator("#view").focus()
    page.keyboard.press("ArrowRight")
    grown(2)
    page.click("#tree-dropped")
    dropped = {c["number"] for c in candidates if c["step"] == 2 and c["fate"] == "beam"}
    assert dropped and dropped < nodes(page)
    page.click("#tree-dropped")
    page.click("#tree-on")
    grown(3)
    page.click("#tree-back")
    grown(2)
    page.click("#tree-play")
    expect(page.locator("#tree-play")).to_have_text("Pause")
    expect(page.locator(".tree-slider span")).to_have_text("Step 5 of 5", timeout=10_000)
    expect(page.locator("#tree-play")).to_have_text("Play")


def test_the_keyboard_walks_the_branches(open_page: OpenPage, demo_server: str) -> None:
    candidates = asked(demo_server)["notes"]["tree"]["candidates"]
    page = look(open_page, "tree")
    page.locator("#node-1").focus()
    page.keyboard.press("ArrowRight")
    at = int(page.evaluate("document.activeElement.dataset.number"))
    assert candidates[at - 1]["parent"] == 1
    assert page.evaluate("document.activeElement.getAttribute('aria-level')") == "2"
    page.keyboard.press("ArrowDown")
    below = int(page.evaluate("document.activeElement.dataset.number"))
    assert below != at and candidates[below - 1]["step"] == 2
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert int(page.evaluate("document.activeElement.dataset.number")) == candidates[below - 1]["parent"]
    # What has the focus says how its score adds up.
    value = page.locator(".tree-score .n").last.get_attribute("data-value")
    assert float(value or "") == candidates[candidates[below - 1]["parent"] - 1]["score"]


@pytest.mark.parametrize("by", ["click", "Enter", "table"])
def test_a_branch_is_forced_and_the_search_goes_on_from_it(open_page: OpenPage, demo_server: str, by: str) -> None:
    payload = asked(demo_server)
    vocabulary, candidates = payload["notes"]["vocabulary"], payload["notes"]["tree"]["candidates"]
    water = next(
        c for c in candidates if vocabulary[c["token"]] == " water" and c["step"] == 3 and c["fate"] == "lives"
    )
    page = look(open_page, "tree")
    if by == "click":
        page.locator(f"#node-{water['number']}").click()
    elif by == "Enter":
        page.locator(f"#node-{water['number']}").focus()
        page.keyboard.press("Enter")
    else:
        page.locator("#tree-table-3 summary").click()
        page.click(f"#force-{water['number']}")
    expect(page.locator(".tree-forced")).to_contain_text("I love water")
    assert page.evaluate("document.activeElement.id") == "tree-free"
    way: list[int] = []
    at = water
    while True:
        way.insert(0, at["token"])
        if not at["parent"]:
            break
        at = candidates[at["parent"] - 1]
    forced = asked(demo_server, prefix=way)
    text = forced["notes"]["streams"]["expected"]["text"]
    assert text.startswith("I love water")
    expect(page.locator("#headline")).to_contain_text(text)
    held_against(page, forced)
    page.click("#tree-free")
    expect(page.locator("#headline")).to_contain_text("I love easy courses")
    held_against(page, payload)


def test_a_language_model_is_forced_after_the_text_it_goes_on_with(open_page: OpenPage) -> None:
    translator = translator_of(named("gpt"))
    with listening(Served.of("gpt", translator)) as (client, _):
        server = str(client.base_url).rstrip("/")
        page = look(open_page, "tree", run="gpt", server=server)
        # Four candidates are the text itself; the fifth is the first that the model wrote.
        candidates = asked(server, run="gpt")["notes"]["tree"]["candidates"]
        chosen = [c for c in candidates if c["step"] == 5][1]
        page.locator("#tree-step").fill("5")
        page.locator(f"#node-{chosen['number']}").click()
        expect(page.locator(".tree-forced")).to_be_visible()
        forced = asked(server, run="gpt", prefix=[chosen["token"]])
        assert forced["notes"]["tree"]["candidates"][4]["token"] == chosen["token"]
        held_against(page, forced)
        second = [c for c in forced["notes"]["tree"]["candidates"] if c["step"] == 6][1]
        page.locator("#tree-step").fill("6")
        page.locator(f"#node-{second['number']}").click()
        expect(page.locator(".tree-forced strong")).to_have_text(
            "".join(forced["notes"]["vocabulary"][token] for token in (chosen["token"], second["token"]))
        )
        held_against(page, asked(server, run="gpt", prefix=[chosen["token"], second["token"]]))


def test_a_refusal_is_told(open_page: OpenPage, demo_server: str) -> None:
    page = look(open_page, "tree", errors="422|Failed to load")
    page.route("**/inspect/record", lambda route: route.fulfill(status=422, json={"error": "no such prefix"}))
    page.locator("#node-1").click()
    expect(page.locator(".tree-told")).to_have_text("no such prefix")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_phone_the_page_stays_as_wide_as_the_screen(open_page: OpenPage, language: str) -> None:
    page = look(open_page, "tree", language=language, width=WIDTHS["phone"], scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS["phone"]
    assert math.isfinite(page.locator("#tree-drawing").evaluate("(e) => e.scrollWidth"))


def test_a_model_without_a_search_has_no_tree(open_page: OpenPage) -> None:
    with listening(Served.of("rnn", translator_of(named("rnn")))) as (client, _):
        server = str(client.base_url).rstrip("/")
        assert (
            httpx.post(f"{server}/inspect/record", json={"run": "rnn", "text": SENTENCE}).json()["notes"]["tree"]
            is None
        )
        page = open_page(f"/#inside/tree?text={SENTENCE}&run=rnn", server=server)
        expect(page.locator("#views a", has_text="Positions")).to_be_visible()
        assert page.locator("#views a", has_text="Beam search").count() == 0
