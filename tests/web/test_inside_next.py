"""Next word: every probability of a step, the logit lens, and how the model learned."""

from __future__ import annotations

import math

import pytest
from playwright.sync_api import expect

from tests.support.served import listening
from tests.unit.inspection.models import demo as new_demo
from tests.unit.inspection.models import named, translator_of
from tests.web.conftest import WIDTHS, OpenPage
from tests.web.inside import SENTENCE, asked, held_against, look
from transduce.demo.shipped import RUN
from transduce.inspection import logit_lens, predictions, record
from transduce.inspection.next_word import probes
from transduce.inspection.predictions import log_probabilities
from transduce.serving.service import Served


def test_each_step_has_its_likeliest_pieces_and_its_numbers(open_page: OpenPage, demo_server: str) -> None:
    page, payload = look(open_page, "next"), asked(demo_server)
    steps = predictions(record(new_demo(), SENTENCE), top=12)
    for step in steps:
        page.click(f"#next-step-{step.position}")
        expect(page.locator(f"#next-step-{step.position}")).to_have_attribute("aria-pressed", "true")
        held_against(page, payload)
        shown = [float(n.get_attribute("data-value") or "") for n in page.locator(".guesses .n").all()]
        assert shown == pytest.approx([guess.probability for guess in step.best], rel=1e-4)
        assert page.locator(".guesses .written th").inner_text().replace("␣", " ") == step.writes
        assert page.locator(".curves .series").first.locator("circle").count() > 50


def test_the_keyboard_steps(open_page: OpenPage) -> None:
    page = look(open_page, "next")
    page.locator("#view").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#next-step-2")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".split h2").first).to_have_text("has read ␣love → writes ␣easy")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#next-step-1")).to_have_attribute("aria-pressed", "true")


def test_the_probability_of_any_piece_can_be_looked_up(open_page: OpenPage, demo_server: str) -> None:
    page, payload = look(open_page, "next"), asked(demo_server)
    page.click("#next-step-2")
    page.fill("#next-search", "water")
    rows = page.locator(".found tbody tr")
    # The word itself comes first, and what merely holds it later.
    expect(rows.first.locator("th")).to_have_text("water")
    expect(rows.nth(1).locator("th")).to_have_text("␣water")
    vocabulary = payload["notes"]["vocabulary"]
    logs = log_probabilities(record(new_demo(), SENTENCE))
    shown = float(rows.nth(1).locator(".n").get_attribute("data-value") or "")
    assert shown == pytest.approx(math.exp(logs[2, vocabulary.index(" water")]), rel=1e-3)
    assert rows.count() == sum("water" in piece.lower() for piece in vocabulary)
    held_against(page, payload)
    # It stays when the step changes, and then is the other step's.
    page.click("#next-step-0")
    expect(page.locator("#next-search")).to_have_value("water")
    held_against(page, payload)
    page.fill("#next-search", "<no such piece>")
    expect(page.locator(".found")).to_contain_text("No piece of the vocabulary")


@pytest.mark.parametrize(("language", "word"), [("en", "heuristic"), ("zh", "启发式")])
def test_the_lens_is_marked_as_a_heuristic(open_page: OpenPage, language: str, word: str) -> None:
    page = look(open_page, "next", language=language)
    expect(page.locator(".view-next .note")).to_contain_text(word)


def test_the_lens_shows_what_each_layer_would_write(open_page: OpenPage) -> None:
    page = look(open_page, "next")
    translator = new_demo()
    rows = logit_lens(translator, record(translator, SENTENCE), top=1)
    cells = page.locator(".lens td.n")
    assert cells.count() == len(rows) == 2 * 5
    for cell, row in zip(cells.all(), rows, strict=True):
        ((piece, probability),) = row.pieces
        assert cell.locator(".lens-piece").text_content() == (piece.replace(" ", "␣") if piece[0] == " " else piece)
        assert float(cell.get_attribute("data-value") or "") == pytest.approx(probability, rel=1e-4)
    cells.nth(5).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#next-step-1")).to_have_attribute("aria-pressed", "true")


def test_how_the_demo_learned_is_a_curve_and_a_table(open_page: OpenPage, demo_server: str) -> None:
    page = look(open_page, "next")
    held_against(page, asked(demo_server))
    easy = page.locator(".training .series-0 circle")
    assert easy.count() == 18
    (probe,) = probes(new_demo().experiment, RUN / "journal.jsonl")
    values = [point["values"] for point in probe["points"]]
    assert [float(circle.get_attribute("data-value") or "") for circle in easy.all()] == [value for value, _ in values]
    # The later, the higher it stands.
    assert float(easy.first.get_attribute("cy") or "") - float(easy.last.get_attribute("cy") or "") > 200
    page.locator(".probe summary").click()
    last = page.locator(".probe tbody tr").last
    expect(last.locator("th")).to_have_text("900")
    assert last.locator("td").all_inner_texts() == [f"{value:.4f}" for value in values[-1]]


def test_what_a_run_lacks_is_said(open_page: OpenPage, demo_server: str) -> None:
    with listening(Served.of("other", translator_of(named("seq2seq")))) as (client, _):
        page = look(open_page, "next", run="other", server=str(client.base_url).rstrip("/"))
        expect(page.locator("#lens-none")).to_contain_text("This model has none")
        expect(page.locator("#probes-none")).to_contain_text("The journal of the training isn’t here")


@pytest.mark.parametrize("name", ["rnn", "bert", "gpt"])
def test_other_models_have_next_words_too(open_page: OpenPage, name: str) -> None:
    with listening(Served.of("other", translator_of(named(name)))) as (client, _):
        server = str(client.base_url).rstrip("/")
        page = look(open_page, "next", run="other", server=server)
        held_against(page, asked(server, run="other"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_phone_the_page_stays_as_wide_as_the_screen(open_page: OpenPage, language: str) -> None:
    page = look(open_page, "next", language=language, width=WIDTHS["phone"], scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS["phone"]
