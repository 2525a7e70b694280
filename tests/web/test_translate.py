"""The translator's tab, by mouse and by keyboard, with the demo's run behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.support.copy_run import load
from tests.support.fresh_run import fresh_run
from tests.support.scripted_model import scripted
from tests.support.served import listening
from tests.web.conftest import WIDTHS, OpenPage
from transduce.demo.shipped import RUN
from transduce.serving.service import Served
from transduce.translator import Translator

SENTENCE, TRANSLATION = "我爱水课", "I love easy courses"
COPY = "<svg onload=alert(1)>"
"""Name of the run that copies."""


def translate(page: Page, text: str) -> None:
    page.fill("#translate-text", text)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#translate-target")).not_to_have_attribute("aria-busy", "true")


def output(page: Page) -> str:
    return page.locator("#translate-output").inner_text()


@pytest.fixture(scope="module")
def copier(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return scripted(tmp_path_factory.mktemp("copier"), lambda translator: lambda source: source)


@pytest.fixture(scope="module")
def both_ways(demo: Translator, copier: Translator) -> Iterator[str]:
    """A server with the demo's run and, back again, one that copies."""
    with listening(Served.of("demo", demo, RUN), Served(COPY, copier, "en", "zh")) as (client, _):
        yield str(client.base_url).rstrip("/")


def test_a_sentence_is_translated_by_keyboard_alone(open_page: OpenPage) -> None:
    page = open_page()
    page.locator("#translate-text").focus()
    page.keyboard.type(SENTENCE)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#translate-output")).to_have_text(TRANSLATION)
    expect(page.locator("#translate-status")).to_contain_text("Translated in")
    expect(page.locator("#translate-said")).to_have_text(TRANSLATION)
    assert page.locator("#translate-output").get_attribute("lang") == "en"


def test_alternatives_have_the_scores_of_the_interface(open_page: OpenPage, demo_server: str) -> None:
    page = open_page()
    page.select_option("#translate-nbest", "5")
    translate(page, SENTENCE)
    asked = {"text": SENTENCE, "run": "demo", "nbest": 5}
    (answer,) = httpx.post(f"{demo_server}/v1/translate", json=asked).json()["translations"]
    rows = page.locator("#translate-others li")
    assert rows.count() == len(answer["alternatives"]) == 5
    for i, one in enumerate(answer["alternatives"]):
        assert rows.nth(i).locator(".written").inner_text() == one["text"]
        told = rows.nth(i).locator(".quiet").inner_text()
        assert told == f"score {one['score']:.2f}, log P {one['log_probability']:.2f}".replace("-", "−")


def lit(page: Page, inside: str) -> list[str]:
    return page.locator(f"{inside} .lit").all_inner_texts()


def test_alignment_lights_up_under_the_mouse_and_at_the_keyboard(open_page: OpenPage) -> None:
    page = open_page()
    translate(page, SENTENCE)
    words = page.locator("#translate-output .from")
    assert words.all_inner_texts() == TRANSLATION.split()
    words.nth(1).hover()
    assert lit(page, "#translate-output") == ["love"]
    marked = page.locator("#source-marks .lit").all_text_contents()
    assert len(marked) == 1 and marked[0] in SENTENCE
    by_mouse = page.locator("#translate-detail").inner_text()
    assert by_mouse.startswith(f"love ← {marked[0]}: ") and "probability" in by_mouse
    page.mouse.move(5, 5)
    assert lit(page, "#translate-output") == []
    words.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "love"
    assert lit(page, "#translate-output") == ["love"]
    assert page.locator("#translate-detail").inner_text() == by_mouse
    page.keyboard.press("End")
    assert lit(page, "#translate-output") == ["courses"]
    assert page.locator("#translate-output [tabindex='0']").all_inner_texts() == ["courses"]


def test_the_source_points_back_from_its_caret_and_under_the_mouse(open_page: OpenPage) -> None:
    page = open_page()
    translate(page, SENTENCE)
    page.locator("#translate-output .from").nth(1).hover()
    place = int(page.locator("#source-marks .lit").first.get_attribute("data-start") or "")
    box = page.locator("#source-marks .lit").first.bounding_box()
    assert box is not None
    page.evaluate(
        "(at) => { const t = document.querySelector('#translate-text'); t.focus(); t.setSelectionRange(at, at); }",
        place,
    )
    expect(page.locator("#translate-output .lit").first).to_be_visible()
    assert "love" in lit(page, "#translate-output")
    page.mouse.move(5, 5)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "love" in lit(page, "#translate-output")


def test_places_are_those_of_the_text_beyond_the_basic_plane(open_page: OpenPage, demo_server: str) -> None:
    page = open_page()
    text = "𠮷👍🏽。我爱水课"
    translate(page, text)
    answer = httpx.post(
        f"{demo_server}/v1/translate", json={"text": text, "run": "demo", "alignment": True, "nbest": 3}
    )
    (one,) = answer.json()["translations"]
    assert output(page) == one["text"]
    pieces = [one["text"][x["target_start"] : x["target_end"]].strip() for x in one["alignment"]]
    assert page.locator("#translate-output .from").all_inner_texts() == [piece for piece in pieces if piece]


def test_confidence_is_coloured_on_request_and_remembered(open_page: OpenPage) -> None:
    page = open_page()
    translate(page, SENTENCE)
    assert page.locator("#translate-legend").is_hidden()
    page.check("#translate-sure")
    assert page.locator("#translate-legend li").count() == 4
    assert "sure" in (page.locator("#translate-output").get_attribute("class") or "")
    assert page.locator("#translate-output .from.sure-0").count() > 0
    page.reload(wait_until="networkidle")
    assert page.is_checked("#translate-sure")


def test_a_changed_text_takes_the_links_away(open_page: OpenPage) -> None:
    page = open_page()
    translate(page, SENTENCE)
    page.locator("#translate-text").press_sequentially("。")
    assert page.locator(".from:visible").count() == 0
    assert "stale" in (page.locator("#translate-output").get_attribute("class") or "")
    assert output(page) == TRANSLATION


def test_a_long_text_keeps_its_lines_and_what_must_not_change(open_page: OpenPage) -> None:
    page = open_page()
    translate(page, "我爱水课。\n\n  {name}，https://a.org/b?c=d\n")
    lines = page.locator("#translate-output").text_content() or ""
    assert lines.split("\n")[1:] == ["", "  {name}，https://a.org/b?c=d", ""]


def test_output_comes_before_it_is_done(open_page: OpenPage) -> None:
    page = open_page()
    events = [
        'event: token\ndata: {"text": 0, "sentence": 0, "token": "I lo"}\n\n',
        'event: token\ndata: {"text": 0, "sentence": 0, "token": "ve"}\n\n',
    ]
    # A server that never ends: what came stands there all the same, and the button stops it.
    page.route(
        "**/v1/translate",
        lambda route: route.fulfill(content_type="text/event-stream", body="".join(events)),
    )
    page.evaluate(
        """() => { const real = window.fetch; window.fetch = async (path, options) => {
          const answer = await real(path, options);
          if (!path.includes("translate")) return answer;
          const held = new ReadableStream({ async start(at) {
            for await (const part of answer.body) at.enqueue(part);
            options.signal.addEventListener("abort", () => at.error(new DOMException("", "AbortError")));
          } });
          return new Response(held, { headers: answer.headers }); }; }"""
    )
    page.fill("#translate-text", SENTENCE)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#translate-output")).to_have_text("I love")
    expect(page.locator("#translate-go")).to_have_text("Stop")
    page.click("#translate-go")
    expect(page.locator("#translate-status")).to_have_text("Stopped.")
    expect(page.locator("#translate-go")).to_have_text("Translate")


def test_languages_are_swapped_with_their_texts(open_page: OpenPage, both_ways: str) -> None:
    page = open_page(server=both_ways)
    translate(page, SENTENCE)
    page.click("#translate-swap")
    assert page.input_value("#translate-from") == "en" and page.input_value("#translate-to") == "zh"
    assert page.input_value("#translate-run") == COPY
    assert page.input_value("#translate-text") == TRANSLATION
    page.click("#translate-go")
    expect(page.locator("#translate-output")).to_have_text(TRANSLATION)
    expect(page.locator("#translate-detail")).to_have_text("For this text the model tells no alignment.")


def test_where_nothing_translates_back_nothing_is_swapped(open_page: OpenPage) -> None:
    page = open_page()
    assert page.is_disabled("#translate-swap")
    assert page.get_attribute("#translate-swap", "title") == "No model here translates back"
    assert page.locator(".which").is_hidden(), "there is only one model"


@pytest.fixture(scope="module")
def kinds(demo: Translator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose runs do what the demo's does, label, answer, and do nothing for this tab."""
    folder = tmp_path_factory.mktemp("kinds")
    runs = {name: load(fresh_run(folder / name, name)) for name in ("rnn", "answer", "generate")}
    ways = {"rnn": ("zh", "en"), "answer": ("en", "en"), "generate": ("fr", "fr")}
    served = [Served(name, translator, *ways[name]) for name, translator in runs.items()]
    with listening(Served.of("demo", demo, RUN), *served) as (client, _):
        yield str(client.base_url).rstrip("/")


def offered(page: Page) -> dict[str, bool]:
    """Which of what only some runs have is shown."""
    return {name: page.locator(f"#translate-{name}").is_visible() for name in ("nbest", "sure", "whole")}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_run_without_a_search_translates_and_offers_what_it_has(
    open_page: OpenPage, kinds: str, language: str
) -> None:
    page = open_page(server=kinds, language=language)
    assert page.locator("#translate-from option").count() == 2, "a run that writes from nothing is not here"
    page.check("#translate-sure")
    page.select_option("#translate-nbest", "5")
    page.select_option("#translate-run", "rnn")
    assert offered(page) == {"nbest": False, "sure": False, "whole": False}
    translate(page, "one two. red blue")
    expect(page.locator("#translate-status")).to_contain_text({"en": "Translated in", "zh": "译好了"}[language])
    asked = {"text": "one two. red blue", "run": "rnn"}
    (answer,) = httpx.post(f"{kinds}/v1/translate", json=asked).json()["translations"]
    assert output(page) == answer["text"] and len(answer["sentences"]) == 2
    assert page.locator("#translate-others").is_hidden() and page.locator("#translate-legend").is_hidden()
    page.select_option("#translate-run", "demo")
    assert offered(page) == {"nbest": True, "sure": True, "whole": False}
    assert page.input_value("#translate-nbest") == "5" and page.is_checked("#translate-sure")
    translate(page, SENTENCE)
    assert page.locator("#translate-others li").count() == 5 and page.locator("#translate-legend").is_visible()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_text_of_several_lines_is_one_question_where_it_is_read_as_a_whole(
    open_page: OpenPage, kinds: str, language: str
) -> None:
    page = open_page(server=kinds, language=language)
    page.select_option("#translate-from", "en")
    assert offered(page) == {"nbest": True, "sure": False, "whole": True}
    told = {"en": "This model reads the whole text at once", "zh": "这个模型一次读完整段文字"}[language]
    expect(page.locator("#translate-whole")).to_contain_text(told)
    translate(page, "one two .\n\nred blue .\ncat ?")
    rows = page.locator("#translate-others .written")
    assert sorted(rows.all_inner_texts()) == ["one two three .", "red blue 我爱水课", "x@@ y cat dog é"]
    assert output(page) == rows.first.inner_text()
    page.click("#translate-inside")
    expect(page.locator("#headline")).to_contain_text("one two . red blue . cat ?")


def test_where_no_run_translates_it_is_told(open_page: OpenPage, tmp_path: Path) -> None:
    writer = load(fresh_run(tmp_path, "generate"))
    with listening(Served("writer", writer, "fr", "fr")) as (client, _):
        page = open_page(server=str(client.base_url).rstrip("/"))
        expect(page.locator("#translate-status")).to_contain_text("None of the models here translates.")
        assert offered(page) == {"nbest": False, "sure": False, "whole": False}
        page.fill("#translate-text", "red")
        assert page.is_disabled("#translate-go")


def test_case_190_and_191_markup_is_text_and_inert(open_page: OpenPage, both_ways: str, tmp_path: Path) -> None:
    page = open_page(server=both_ways)
    page.select_option("#translate-from", "en")
    page.select_option("#translate-format", "html")
    for text in ("x <b onclick=alert(1)>y</b> z", "<svg onload=alert(1)>", "<img src=x onerror=alert(1)>"):
        translate(page, text)
        assert output(page) == text
        assert page.locator("#translate :is(b, svg, img)").count() == 0
    dropped = tmp_path / "<img src=x onerror=alert(1)>.txt"
    dropped.write_text("x", encoding="utf-8")
    page.set_input_files("#translate-file", dropped)
    expect(page.locator("#translate-status")).to_contain_text(dropped.name)
    expect(page.locator("#translate-run")).to_contain_text(COPY)
    assert page.locator("#translate :is(b, svg, img)").count() == 0


def test_a_file_is_dropped_or_opened(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page()
    file = tmp_path / "words.txt"
    file.write_text("\ufeff" + SENTENCE, encoding="utf-8")
    page.set_input_files("#translate-file", file)
    expect(page.locator("#translate-text")).to_have_value(SENTENCE)
    expect(page.locator("#translate-status")).to_have_text("words.txt is here. Nothing was sent yet.")
    drop = """(files) => {
      const dataTransfer = new DataTransfer();
      for (const [name, bytes] of files) dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
      const pane = document.querySelector("#translate-source");
      const options = { dataTransfer, bubbles: true, cancelable: true };
      for (const kind of ["dragover", "drop"]) pane.dispatchEvent(new DragEvent(kind, options));
    }"""
    page.evaluate(drop, [["b.txt", list("水课".encode())]])
    expect(page.locator("#translate-text")).to_have_value("水课")
    for name, content, told in (
        ("c.txt", "我".encode("gb18030"), "c.txt is no text in UTF-8"),
        ("d.png", b"\x89PNG\0", "d.png is no text in UTF-8"),
        ("e.txt", b"a" * 50_000, "e.txt has 50,000 bytes, more than the 10,000 characters"),
    ):
        page.evaluate(drop, [[name, list(content)]])
        expect(page.locator("#translate-status")).to_contain_text(told)
        expect(page.locator("#translate-text")).to_have_value("水课")


def test_a_translation_is_copied_and_saved(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    assert page.is_disabled("#translate-copy") and page.is_disabled("#translate-save")
    translate(page, SENTENCE)
    page.click("#translate-copy")
    expect(page.locator("#translate-status")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == TRANSLATION
    with page.expect_download() as coming:
        page.click("#translate-save")
    assert coming.value.suggested_filename == "translation.en.txt"
    assert Path(coming.value.path()).read_text(encoding="utf-8") == TRANSLATION


def test_characters_are_counted_against_the_servers_limit(open_page: OpenPage, demo: Translator) -> None:
    with listening(Served.of("demo", demo, RUN), characters=7) as (client, _):
        page = open_page(server=str(client.base_url).rstrip("/"))
        assert page.is_disabled("#translate-go"), "there is nothing to translate yet"
        page.fill("#translate-text", "我爱👍𠮷")
        expect(page.locator("#translate-count")).to_have_text("4 of 7 characters")
        assert page.is_enabled("#translate-go")
        page.fill("#translate-text", "x" * 8)
        expect(page.locator("#translate-count")).to_have_text("8 of 7 characters")
        assert page.is_disabled("#translate-go")
        assert page.get_attribute("#translate-text", "aria-invalid") == "true"


def test_too_many_requests_are_told_with_the_time_to_wait(open_page: OpenPage, demo: Translator) -> None:
    with listening(Served.of("demo", demo, RUN), rate="1/minute") as (client, _):
        page = open_page(server=str(client.base_url).rstrip("/"), errors="429")
        translate(page, SENTENCE)
        translate(page, SENTENCE)
        expect(page.locator("#translate-error")).to_contain_text("Too many requests.")
        expect(page.locator("#translate-again")).to_contain_text("Try again in ")
        page.click("#language")
        expect(page.locator("#translate-error")).to_contain_text("请求太多了。")


def test_a_busy_server_says_when_to_try_again(open_page: OpenPage) -> None:
    page = open_page(errors="503")
    busy = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"error": "128 requests are waiting already"}}
    page.route("**/v1/translate", lambda route: route.fulfill(**busy))
    translate(page, SENTENCE)
    expect(page.locator("#translate-error")).to_have_text(
        "The server has too much to do. 128 requests are waiting already"
    )
    expect(page.locator("#translate-again")).to_have_text("You can try again now.")
    page.unroute("**/v1/translate")
    page.click("#translate-go")
    expect(page.locator("#translate-output")).to_have_text(TRANSLATION)
    assert page.locator("#translate-error").is_hidden() and page.locator("#translate-again").is_hidden()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_server_that_is_gone_is_told(open_page: OpenPage, language: str) -> None:
    page = open_page(language=language, errors="ERR_FAILED")
    page.route("**/v1/translate", lambda route: route.abort())
    translate(page, SENTENCE)
    told = {"en": "The server doesn’t answer. Is it still running?", "zh": "服务器没有应答，它还在运行吗？"}
    expect(page.locator("#translate-error")).to_have_text(told[language])


def test_a_stream_that_breaks_off_is_no_translation(open_page: OpenPage) -> None:
    page = open_page()
    page.route(
        "**/v1/translate",
        lambda route: route.fulfill(
            content_type="text/event-stream", body='event: error\ndata: {"error": "late", "status": 503}\n\n'
        ),
    )
    translate(page, SENTENCE)
    expect(page.locator("#translate-error")).to_contain_text("The server has too much to do.")
    page.unroute("**/v1/translate")
    page.route("**/v1/translate", lambda route: route.fulfill(content_type="text/event-stream", body=""))
    translate(page, SENTENCE)
    expect(page.locator("#translate-error")).to_contain_text("doesn’t answer")
    assert page.is_disabled("#translate-copy")


def test_a_server_with_a_key_is_given_it(open_page: OpenPage, demo: Translator) -> None:
    with listening(Served.of("demo", demo, RUN), keys=("a-key-of-some-length",)) as (client, _):
        page = open_page(server=str(client.base_url).rstrip("/"), errors="401")
        translate(page, SENTENCE)
        expect(page.locator("#translate-error")).to_contain_text("This server wants an API key")
        page.fill("#translate-key input", "a-key-of-some-length")
        page.click("#translate-go")
        expect(page.locator("#translate-output")).to_have_text(TRANSLATION)
        page.reload(wait_until="networkidle")
        translate(page, SENTENCE)
        expect(page.locator("#translate-output")).to_have_text(TRANSLATION)


def test_the_page_speaks_chinese(open_page: OpenPage) -> None:
    page = open_page(language="zh")
    assert page.locator("html").get_attribute("lang") == "zh-Hans"
    translate(page, SENTENCE)
    expect(page.locator("#translate-status")).to_contain_text("译好了")
    assert page.locator("#translate-from option").all_inner_texts() == ["中文"]
    assert page.locator("#translate-go").inner_text() == "翻译"
    page.click("#language")
    expect(page.locator("#translate-status")).to_contain_text("Translated in")
    assert output(page) == TRANSLATION, "the translation stays when the page's language changes"
    assert page.locator("#translate-from option").all_inner_texts() == ["Chinese"]


def test_from_a_translation_into_the_model(open_page: OpenPage) -> None:
    page = open_page()
    translate(page, f"{SENTENCE}。你好")
    page.click("#translate-inside")
    expect(page.locator("#headline")).to_contain_text(SENTENCE)
    assert page.locator("#tab-inside").get_attribute("aria-current") == "page"


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_nothing_is_wider_than_the_window(open_page: OpenPage, width: int) -> None:
    page = open_page(width=width)
    translate(page, "我爱水课。" * 31 + "x" * 400)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    rows = {name: page.locator(f"#translate-{name}").bounding_box() for name in ("source", "target")}
    beside = rows["source"]["y"] == rows["target"]["y"]  # type: ignore[index]
    assert beside == (width == WIDTHS["wide"])


def test_languages_may_be_called_anything(open_page: OpenPage, copier: Translator) -> None:
    with listening(Served("copy", copier, "a b!", "")) as (client, _):
        page = open_page(server=str(client.base_url).rstrip("/"))
        assert page.locator("#translate-from option").all_inner_texts() == ["A b!"]
        assert page.locator("#translate-to option").all_inner_texts() == ["Not named"]
        translate(page, "the cat")
        assert output(page) == "the cat"
