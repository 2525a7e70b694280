"""Every number that the page shows is the recording's, to the last digit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tests.unit.inspection.models import by_hand, named, translator_of, words_of
from tests.web.conftest import OpenPage
from tests.web.inside import asked, held_against, look
from transduce.inspection import record
from transduce.inspection.payload import payload
from transduce.page import document

Payload = Mapping[str, Any]


def compared(page: Page, payload: Payload) -> list[dict[str, Any]]:
    """Every number of the view is the payload's, and what people read is that number, rounded."""
    numbers = held_against(page, payload)
    for number in numbers:
        plain = number["text"].strip().replace("−", "-").replace("∞", "inf").replace(",", "")
        # Where a cell shows only a colour it has no text.
        if re.fullmatch(r"-?(inf|[\d.]+(e-?\d+)?)", plain):
            assert float(plain) == pytest.approx(float(number["value"]), rel=0.06, abs=0.006), number
    return numbers


@pytest.fixture(scope="module")
def served(demo_server: str) -> Payload:
    return asked(demo_server)  # type: ignore[no-any-return]


@pytest.fixture
def inside(open_page: OpenPage) -> Page:
    return look(open_page, "walk")


def test_every_number_of_the_walk_through(inside: Page, served: Payload) -> None:
    stages, numbers = [], 0
    while True:
        stages.append(inside.locator("#view .shape code").all_inner_texts())
        numbers += len(compared(inside, served))
        if inside.locator("#stage-on").is_disabled():
            break
        inside.keyboard.press("ArrowRight")
    assert len(stages) == 2 + len(served["views"]["walk"]["stages"])
    assert [name for names in stages for name in names] == [s["result"] for s in served["views"]["walk"]["stages"]]
    assert numbers > 1000


def test_all_dimensions_can_be_read(inside: Page, served: Payload) -> None:
    inside.click("#stage-1")
    seen: set[tuple[str, str]] = set()
    while True:
        numbers = [n for n in compared(inside, served) if n.get("tensor") == "encoder.embedding"]
        seen |= {(n["index"], n["value"]) for n in numbers}
        if inside.locator("#rows-ledger_after").is_disabled():
            break
        inside.click("#rows-ledger_after")
    assert len(seen) == 5 * 128


@pytest.mark.parametrize("unit", ["pieces", "characters", "words"])
@pytest.mark.parametrize("kind", ["weights", "norms"])
def test_every_number_of_every_map(inside: Page, served: Payload, unit: str, kind: str) -> None:
    inside.click("#views a >> nth=1")
    inside.wait_for_selector("#view .layers")
    for place in ("encoder.1.self", "decoder.0.self", "decoder.1.cross"):
        inside.click(f'[id="place-{place}"]')
        inside.click(f"#unit-{unit}")
        inside.click(f"#kind-{kind}")
        for head in ("mean", "0", "3"):
            inside.click(f"#head-{head}")
            sides = [inside.locator(f"#view .heat {part}").count() for part in ("tbody tr", "thead th")]
            assert len(compared(inside, served)) == sides[0] * sides[1] > 0


def test_every_number_of_a_query(inside: Page, served: Payload) -> None:
    inside.click("#views a >> nth=2")
    inside.wait_for_selector("#view .worked")
    for place in ("encoder.0.self", "decoder.0.self", "decoder.1.cross"):
        inside.select_option("#query-place", place)
        inside.click("#query-head-2")
        inside.click("#query-row-3")
        inside.click("#key-1")
        numbers = compared(inside, served)
        names = {n.get("tensor") for n in numbers}
        assert len(numbers) > 100
        assert {f"{place}.{part}" for part in ("queries", "keys", "scores", "weights", "heads", "projected")} <= names


def test_two_by_three_by_hand_shows_no_axis_swapped(browser: Browser, tmp_path: Path) -> None:
    # Two heads, 3 steps, 4 source tokens: each weight says where it stands.
    weights = [[[(1 + h + 2 * t + 8 * s) / 100 for s in range(4)] for t in range(3)] for h in range(2)]
    recording = by_hand(weights, "x y z", "a b", words_of("a b x y z"))
    (tmp_path / "page.html").write_text(document([payload(recording)]), encoding="utf-8")
    page = browser.new_page()
    page.goto(f"file://{tmp_path}/page.html#inside/attention?place=decoder.0.cross&head=1")
    cells = page.locator("#view .heat tbody tr")
    assert [row.locator("th").inner_text() for row in cells.all()] == ["<s> → a", "a → b", "b → </s>"]
    assert page.locator("#view .heat thead th").all_inner_texts() == ["x", "y", "z", "</s>"]
    found = [[float(c.get_attribute("data-value") or "") for c in row.locator("td").all()] for row in cells.all()]
    np.testing.assert_array_equal(np.array(found, np.float32), np.array(weights[1], np.float32))
    page.close()


@pytest.mark.parametrize("name", ["rnn-search", "convs2s", "bytenet", "seq2seq", "bert", "gpt", "rnn", "pre-norm"])
def test_other_models_show_their_own_numbers(
    browser: Browser, tmp_path: Path, unchecked_shapes: None, name: str
) -> None:
    translator = translator_of(named(name))
    made = json.loads(json.dumps(payload(record(translator, "我爱水课"), translator)))
    (tmp_path / "page.html").write_text(document([made]), encoding="utf-8")
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"file://{tmp_path}/page.html")
    page.wait_for_selector("#view .walk")
    numbers = 0
    while True:
        numbers += len(compared(page, made))
        if page.locator("#stage-on").is_disabled():
            break
        page.keyboard.press("ArrowRight")
    assert numbers > 50 and problems == []
    page.close()
