"""The page in a real browser, served by a real server on loopback. Nothing may ask anything of anybody else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

from tests.support.served import listening
from tests.web.browser import chromium
from transduce.demo.shipped import RUN
from transduce.devices import ComputeConfig
from transduce.serving.service import Served
from transduce.translator import Translator

WIDTHS = {"phone": 360, "wide": 1400}

OpenPage = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium here: `make test-web` installs it")
    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture(scope="package")
def demo() -> Translator:
    """The run that ships, as `transduce serve` loads it."""
    return Translator.load(RUN, compute=ComputeConfig(device="cpu", threads=1))


@pytest.fixture(scope="package")
def demo_server(demo: Translator) -> Iterator[str]:
    """The address of a server with the demo's run."""
    with listening(Served.of("demo", demo, RUN)) as (client, _):
        yield str(client.base_url).rstrip("/")


class Watched:
    """What went wrong in a browser's context: errors of scripts, of the console and of the policy, foreign requests."""

    def __init__(self, context: BrowserContext, expected: str) -> None:
        self._expected = re.compile(expected) if expected else None
        self.problems: list[str] = []
        self.foreign: list[str] = []
        context.route(lambda url: not _is_loopback(url), self._block)
        context.expose_function("reportViolation", self._hear)
        context.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => reportViolation(e.violatedDirective + e.blockedURI));"
        )
        context.on("console", lambda said: self._hear(said.text) if said.type in ("error", "warning") else None)
        context.on("weberror", lambda error: self._hear(str(error.error)))

    def _block(self, route: Route) -> None:
        self.foreign.append(route.request.url)
        route.abort()

    def _hear(self, problem: str) -> None:
        if self._expected is None or not self._expected.search(problem):
            self.problems.append(problem)


def _is_loopback(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in ("http", "https", "ws", "wss") or parts.hostname in ("127.0.0.1", "localhost", "::1")


@pytest.fixture
def open_page(browser: Browser, request: pytest.FixtureRequest, unchecked_shapes: None) -> Iterator[OpenPage]:
    """Opens a page and waits until it knows its server. `errors` is a pattern of errors that a test provokes."""
    with ExitStack() as contexts:
        watched = []

        def open_page(
            address: str = "/",
            *,
            server: str | None = None,
            language: str = "en",
            scheme: Literal["light", "dark"] = "light",
            width: int = WIDTHS["wide"],
            errors: str = "",
            **options: Any,
        ) -> Page:
            server = server or request.getfixturevalue("demo_server")
            context = browser.new_context(
                locale={"en": "en-GB", "zh": "zh-CN"}[language],
                color_scheme=scheme,
                viewport={"width": width, "height": 900},
                reduced_motion="reduce",
                **options,
            )
            contexts.callback(context.close)
            context.set_default_timeout(8_000)
            watched.append(Watched(context, errors))
            page = context.new_page()
            page.on("dialog", lambda dialog: watched[-1].problems.append(f"dialog: {dialog.message}"))
            page.goto(server + address, wait_until="networkidle" if "#" in address else "load")
            page.locator("#translate-nbest option").first.wait_for(state="attached")
            return page

        yield open_page
        assert [problem for one in watched for problem in one.problems] == []
        assert [url for one in watched for url in one.foreign] == [], "something asked a server elsewhere"
