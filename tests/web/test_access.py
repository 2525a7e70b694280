"""What axe-core finds in the page, in both languages and both schemes, and what the page never does."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.web.conftest import WIDTHS, OpenPage, Watched
from tests.web.test_translate import SENTENCE, TRANSLATION, translate
from transduce.page import FOLDER


def faults(page: Page) -> list[str]:
    """Serious faults, each with where it is."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary')}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_translator_has_no_serious_fault(
    open_page: OpenPage, language: str, scheme: Literal["light", "dark"]
) -> None:
    width = WIDTHS["phone"] if scheme == "dark" else WIDTHS["wide"]
    page = open_page(language=language, scheme=scheme, width=width, errors="503")
    translate(page, "我爱水课。你爱我吗？今天天气很好。")
    page.check("#translate-sure")
    page.locator("#translate-output .from").nth(1).focus()
    assert faults(page) == [], "with a translation"
    busy = {"status": 503, "headers": {"Retry-After": "7"}, "json": {"error": "busy"}}
    page.route("**/v1/translate", lambda route: route.fulfill(**busy))
    page.click("#translate-go")
    expect(page.locator("#translate-error")).to_be_visible()
    assert faults(page) == [], "with an error"


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("zh", "dark")])
def test_looking_inside_has_no_serious_fault(
    open_page: OpenPage, language: str, scheme: Literal["light", "dark"]
) -> None:
    page = open_page(f"/#inside?text={SENTENCE}", language=language, scheme=scheme)
    expect(page.locator("#headline")).to_contain_text(TRANSLATION)
    assert page.locator("#views a").count() > 1
    for i in range(page.locator("#views a").count()):
        page.locator("#views a").nth(i).click()
        assert faults(page) == [], page.locator("#views a").nth(i).inner_text()


def test_every_control_is_reached_by_the_tab_key_in_order(open_page: OpenPage) -> None:
    page = open_page()
    translate(page, SENTENCE)
    page.locator(".skip").focus()
    reached = ["skip"]
    for _ in range(40):
        page.keyboard.press("Tab")
        at = page.evaluate(
            "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
        )
        if at == "BODY":
            break
        reached.append(at)
    places = [
        "skip", "tab-translate", "language", "theme", "translate-from", "translate-to", "translate-text",
        "translate-open", "translate-clear", "translate-go", "translate-sure", "translate-nbest", "translate-format",
        "from", "translate-copy", "translate-save", "translate-inside",
    ]  # fmt: skip
    known = [next((place for place in places if at.split(" ")[0] == place), None) for at in reached]
    assert [place for place in known if place] == places


def test_the_first_key_leads_past_the_top(open_page: OpenPage) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_no_file_of_the_page_names_another_server() -> None:
    allowed = ("http://www.w3.org/2000/svg",)
    for path in FOLDER.rglob("*"):
        if path.suffix in (".js", ".css", ".html", ".svg"):
            text = path.read_text(encoding="utf-8")
            for name in allowed:
                text = text.replace(name, "")
            assert "://" not in text and 'src="//' not in text, path.name
            assert path.suffix != ".html" or (" style=" not in text and "<style" not in text), path.name


def test_the_policy_forbids_what_is_elsewhere(open_page: OpenPage) -> None:
    page = open_page(errors="Content Security Policy|img-src|violates")
    answer = page.request.get(page.url)
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")
    loaded = page.evaluate(
        """() => new Promise((done) => {
          const image = Object.assign(new Image(), { onload: () => done(true), onerror: () => done(false) });
          image.src = "http://192.0.2.1/x.png";
        })"""
    )
    assert loaded is False


def test_what_must_not_happen_would_be_seen(browser: Browser, demo_server: str) -> None:
    with browser.new_context() as context:
        watched = Watched(context, "")
        page = context.new_page()
        page.goto(demo_server)
        page.evaluate("document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }))")
        page.evaluate("setTimeout(() => { throw new Error('thrown'); })")
        page.evaluate("fetch('http://192.0.2.1/x').catch(() => 0)")
        page.wait_for_timeout(200)
    assert any("script-src" in problem for problem in watched.problems)
    assert any("thrown" in problem for problem in watched.problems)
    assert any("connect-src" in problem for problem in watched.problems)


def test_a_request_to_elsewhere_is_blocked_and_seen(browser: Browser) -> None:
    with browser.new_context() as context:
        watched = Watched(context, "")
        page = context.new_page()
        page.set_content("<img src='http://192.0.2.1/x.png'>", wait_until="load")
        assert watched.foreign == ["http://192.0.2.1/x.png"]
