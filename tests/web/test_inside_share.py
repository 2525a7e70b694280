"""What is taken along: one file that needs nobody, pictures, and the numbers."""

from __future__ import annotations

import html
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.command import transduce
from tests.web.conftest import OpenPage
from transduce.demo.shipped import RUN
from transduce.inspection import Recording, compare, record
from transduce.inspection.payload import payload
from transduce.page import document
from transduce.translator import Translator


@pytest.fixture(scope="module")
def recording(demo: Translator) -> Recording:
    return record(demo, "我爱水课")


def alone(browser: Browser, address: str, language: str = "en") -> tuple[Page, list[str]]:
    """A page from disk, in a browser that lets nothing out; and whatever went wrong."""
    context = browser.new_context(locale={"en": "en-GB", "zh": "zh-CN"}[language], offline=True)
    problems: list[str] = []
    context.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
    context.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    page = context.new_page()
    page.goto(address)
    return page, problems


def saved(page: Page, ending: str, folder: Path) -> Path:
    if not page.locator(".share").evaluate("(of) => of.open"):
        page.click(".share summary")
    with page.expect_download() as download:
        page.click(f"#save-{ending}")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_file_of_the_command_works_offline_from_disk(browser: Browser, tmp_path: Path, language: str) -> None:
    out = tmp_path / "page.html"
    transduce("inspect", "我爱水课", "--run", RUN, "--out", out, "--by", "words").succeeded()
    page, problems = alone(browser, f"file://{out}", language)
    expect(page.locator("#headline")).to_have_text("我爱水课 → I love easy courses")
    assert page.title() == "我爱水课 → I love easy courses"
    assert page.locator(".tabs").is_hidden() and page.locator("#ask").is_hidden()
    views = page.locator("#views a").count()
    assert views == 8
    for at in range(views):
        page.click(f"#views a >> nth={at}")
        expect(page.locator(f"#views a >> nth={at}")).to_have_attribute("aria-current", "page")
        assert page.locator("#view .n").count() > 0 or page.locator("#view .mini").count() > 0
    page.click("#views a >> nth=1")
    page.click('[id="place-decoder.1.cross"]')
    assert page.get_attribute("#unit-words", "aria-pressed") == "true"
    assert problems == []


def test_a_page_saved_from_the_server_is_the_same_and_small(
    open_page: OpenPage, browser: Browser, tmp_path: Path
) -> None:
    page = open_page("/#inside/attention?text=我爱水课&place=decoder.0.cross&head=1")
    page.wait_for_selector("#view .heat")
    shown = page.locator("#view .heat").inner_text()
    path = saved(page, "html", tmp_path)
    assert path.name == "I-love-easy-courses.html" and path.stat().st_size < 1_500_000
    other, problems = alone(browser, f"file://{path}")
    other.click("#views a >> nth=1")
    assert other.locator("#view .heat").inner_text() == shown
    # From there the numbers can be taken along once more.
    assert saved(other, "npz", tmp_path).name == "I-love-easy-courses.npz"
    assert problems == [] and not other.locator("#save-html").is_visible()


def test_the_saved_numbers_are_the_recording(open_page: OpenPage, tmp_path: Path, recording: Recording) -> None:
    page = open_page("/#inside/walk?text=我爱水课")
    page.wait_for_selector("#view .walk")
    path = saved(page, "npz", tmp_path)
    loaded = Recording.load(path)
    assert loaded.notes() == recording.notes()
    assert {difference.kind for difference in compare(recording, loaded)} == {"equal"}
    with np.load(path, allow_pickle=False) as file:
        assert file["decoder.1.cross.weights"].shape == (4, 5, 5)


@pytest.mark.parametrize("view", ["walk", "attention", "query", "tree", "heads", "positions", "next", "family"])
def test_any_view_is_a_picture(open_page: OpenPage, tmp_path: Path, view: str) -> None:
    page = open_page(f"/#inside/{view}?text=我爱水课&place=decoder.1.cross&stage=1")
    page.wait_for_selector(f"#view .view-{view}")
    drawing = saved(page, "svg", tmp_path).read_text(encoding="utf-8")
    root = ElementTree.fromstring(drawing)
    words = "".join(text for at in root.iter() if at.tag.endswith("}text") for text in at.itertext())
    first = page.locator("#view p, #view h2, #view .n").first.inner_text()
    assert re.sub(r"\s", "", first)[:20] in re.sub(r"\s", "", words)
    assert not re.search(r"foreignObject|<style|var\(|class=", drawing)
    picture = saved(page, "png", tmp_path).read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 5_000


def test_a_notebook_shows_the_page_in_a_frame(browser: Browser, recording: Recording, tmp_path: Path) -> None:
    shown = recording._repr_html_()
    assert html.unescape(re.findall(r'srcdoc="([^"]*)"', shown)[0]).startswith("<!doctype html>")
    (tmp_path / "notebook.html").write_text(f"<!doctype html><h1>a notebook</h1>{shown}", encoding="utf-8")
    page, problems = alone(browser, f"file://{tmp_path}/notebook.html")
    frame = page.frame_locator("iframe")
    expect(frame.locator("#headline")).to_have_text("我爱水课 → I love easy courses")
    # Links stay within the frame, whose address is the notebook's.
    frame.locator("#views a").nth(2).click()
    expect(frame.locator("#view .worked")).to_be_visible()
    expect(page.locator("h1").first).to_have_text("a notebook")
    assert problems == []


def test_text_that_looks_like_markup_stays_text(
    browser: Browser, demo: Translator, tmp_path: Path, unchecked_shapes: None
) -> None:
    typed, wanted = (
        "</script><script>document.title='x'</script>&amp;",
        "<img src=http://192.0.2.1/a onerror=alert(1)>'\"",
    )
    made = payload(record(demo, typed, target=wanted), demo)
    (tmp_path / "page.html").write_text(document([made], "a"), encoding="utf-8")
    page, problems = alone(browser, f"file://{tmp_path}/page.html")
    expect(page.locator("#headline")).to_have_text(f"{typed} → {wanted}")
    for at in range(page.locator("#views a").count()):
        page.click(f"#views a >> nth={at}")
    assert page.title() == "a" and problems == [] and page.locator("#view img").count() == 0
