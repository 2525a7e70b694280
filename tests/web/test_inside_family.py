"""The family side by side: several runs on one sentence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.support.served import listening
from tests.unit.inspection.models import named, translator_of
from tests.web.conftest import WIDTHS, OpenPage
from tests.web.inside import SENTENCE, asked, held_against, look
from transduce.demo.shipped import RUN
from transduce.inspection.packing import unpacked
from transduce.serving.service import Served
from transduce.translator import Translator

OTHERS = {
    "seq2seq": "seq2seq-forwards",
    "bahdanau": "rnn-search",
    "convs2s": "convs2s",
    "bytenet": "bytenet",
    "tagger": "rnn",
    "gpt": "gpt",
}


@pytest.fixture(scope="module")
def family(demo: Translator) -> Iterator[str]:
    others = [Served.of(name, translator_of(named(of))) for name, of in OTHERS.items()]
    with listening(Served.of("demo", demo, RUN), *others) as (client, _):
        yield str(client.base_url).rstrip("/")


def beside(page: Page, *names: str) -> None:
    for name in names:
        page.click(f"#family-{name}")
        expect(page.locator(f"#family-{name}")).to_have_attribute("aria-pressed", "true")


def test_runs_stand_beside_one_another_each_with_its_own_numbers(open_page: OpenPage, family: str) -> None:
    page = look(open_page, "family", server=family)
    expect(page.locator("#family-alone")).to_contain_text("Choose another model")
    assert page.locator("#family-demo").count() == 0
    names = list(OTHERS)
    beside(page, *names)
    payloads = [asked(family), *(asked(family, run=name) for name in names)]
    numbers = held_against(page, *payloads)
    assert {number["recording"] for number in numbers} == {str(i) for i in range(7)}
    rows = page.locator(".view-family .list tbody tr")
    for i, (name, payload) in enumerate(zip(["demo", *names], payloads, strict=True)):
        expect(rows.nth(i).locator("th")).to_contain_text(name)
        text = payload["notes"]["streams"]["expected"]["text"]
        assert rows.nth(i).locator("td").first.text_content() == text
    told = [rows.nth(i).locator("td").last.inner_text() for i in range(7)]
    assert told[0] == told[2] == told[3] == "looks at every state, by attention"
    assert told[1] == "one vector of fixed size" and told[4] == "the states themselves, place by place"
    assert told[5].startswith("it has no decoder") and told[6].startswith("reads and writes one text")
    page.click("#family-seq2seq")
    expect(page.locator(".member")).to_have_count(6)
    expect(page.locator("#family-seq2seq")).to_have_attribute("aria-pressed", "false")


def test_each_kind_shows_what_its_decoder_has(open_page: OpenPage, family: str) -> None:
    page = look(open_page, "family", server=family)
    beside(page, "seq2seq", "bahdanau", "bytenet")
    demo, seq2seq, bahdanau, bytenet = page.locator(".member").all()
    expect(seq2seq).to_contain_text("The whole sentence in one vector")
    expect(seq2seq).to_contain_text("26 numbers, however long the sentence is.")
    expect(seq2seq).to_contain_text("It doesn’t look back")
    expect(bahdanau.locator("select option")).to_have_text(["decoder.cross, head 0"])
    assert demo.locator("select option").count() == 2 * 4
    # ByteNet's encoder gives a state more than its source has tokens.
    expect(bytenet).to_contain_text("6 states of 26 numbers.")
    for member in (demo, seq2seq, bahdanau):
        expect(member).to_contain_text("5 states of")


def test_a_map_is_of_the_place_and_head_that_were_chosen(open_page: OpenPage, family: str) -> None:
    page = look(open_page, "family", server=family)
    page.select_option("#family-map-0", label="decoder.1.cross, head 2")
    cells = page.locator(".member .heat:not(.seen) td.n")
    expect(cells.first).to_have_attribute("data-index", "2,0,0")
    weights = unpacked(asked(family)["tensors"]["decoder.1.cross.weights"])[2]
    shown = [float(cell.get_attribute("data-value") or "") for cell in cells.all()]
    assert shown == weights.ravel().tolist()


def test_receptive_fields_grow_with_the_layers(open_page: OpenPage, family: str) -> None:
    page = look(open_page, "family", server=family)
    beside(page, "convs2s")
    demo, convolution = page.locator(".member").all()
    expect(demo.locator(".field")).to_contain_text("Every state here sees all 5 tokens.")
    expect(convolution.locator(".field")).to_contain_text("A state here sees 2 to 3 of 5 tokens.")
    values = [float(c.get_attribute("data-value") or "") for c in convolution.locator(".seen td.n").all()]
    seen = np.array(values).reshape(5, 5) > 0
    assert seen.tolist() == [[abs(t - s) <= 1 for s in range(5)] for t in range(5)]
    assert [c.inner_text() for c in convolution.locator(".seen td.n").all()].count("") == (~seen).sum()
    slider = page.locator("#family-stage-1")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".member").nth(1).locator(".field")).to_contain_text("A state here sees 3 to 5 of 5 tokens.")
    assert page.evaluate("document.activeElement.id") == "family-stage-1"


def test_the_context_vector_is_that_of_the_recording(open_page: OpenPage, family: str) -> None:
    page = look(open_page, "family", run="seq2seq", server=family)
    context = unpacked(asked(family, run="seq2seq")["tensors"]["encoder.context"])
    shown = page.locator('.n[data-tensor="encoder.context"]')
    where = np.unravel_index(int(np.abs(context).argmax()), context.shape)
    assert shown.get_attribute("data-index") == ",".join(map(str, where))
    assert float(shown.get_attribute("data-value") or "") == float(context[where])


def test_a_refusal_is_told(open_page: OpenPage, family: str) -> None:
    page = look(open_page, "family", server=family, errors="503|Failed to load")
    page.route("**/inspect/record", lambda route: route.fulfill(status=503, json={"error": "too much to do"}))
    page.click("#family-gpt")
    expect(page.locator(".view-family .failed")).to_have_text("too much to do")


def test_one_run_alone_says_how_to_have_more(open_page: OpenPage, demo_server: str) -> None:
    page = look(open_page, "family")
    expect(page.locator("#family-alone")).to_contain_text("transduce serve --run A --run B")
    held_against(page, asked(demo_server, text=SENTENCE))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_phone_the_page_stays_as_wide_as_the_screen(open_page: OpenPage, family: str, language: str) -> None:
    page = look(open_page, "family", language=language, width=WIDTHS["phone"], scheme="dark", server=family)
    beside(page, "bahdanau")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS["phone"]
