"""What tests of Look inside share: opening a view, and holding every number on it against what the server says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage
from transduce.inspection.packing import unpacked

SENTENCE = "我爱水课"
Payload = Mapping[str, Any]

_NUMBERS = """() => [...document.querySelectorAll('#view .n')].map((n) => ({
  ...n.dataset, text: n.textContent, recording: n.closest('[data-recording]')?.dataset.recording ?? '0'}))"""


def look(open_page: OpenPage, view: str, *, run: str = "demo", text: str = SENTENCE, **options: Any) -> Page:
    page = open_page(f"/#inside/{view}?text={quote(text)}&run={run}", **options)
    expect(page.locator(f".view-{view}")).to_be_visible()
    return page


def asked(server: str, **body: Any) -> Any:
    """The payload of a recording, straight from the server."""
    answer = httpx.post(f"{server}/inspect/record", json={"run": "demo", "text": SENTENCE, **body}, timeout=60)
    return answer.raise_for_status().json()


def held_against(page: Page, *payloads: Payload, **named: Payload) -> list[dict[str, Any]]:
    """Every number of the view, each equal to the recording's in the place that it names.

    `data-recording` around a number says whose it is: the number of one of `payloads`, 0 unless given, or a name.
    """
    whose = {str(i): payload for i, payload in enumerate(payloads)} | named
    numbers: list[dict[str, Any]] = page.evaluate(_NUMBERS)
    assert numbers
    for number in numbers:
        expected = value_of(whose[number["recording"]], number)
        told = float(number["value"])
        assert told == expected or (math.isnan(told) and math.isnan(expected)), number
    return numbers


def value_of(payload: Payload, number: Mapping[str, str]) -> float:
    at: Any = payload["tensors"][number["tensor"]] if "tensor" in number else payload
    for part in number.get("from", "").split(".") if "tensor" not in number else []:
        at = at[int(part)] if isinstance(at, list) else at[part]
    if "index" in number:
        return float(unpacked(at)[tuple(map(int, number["index"].split(",")))])
    return float(at)
