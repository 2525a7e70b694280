"""The document that describes the interface, held against what the server does; and the page that shows it."""

from __future__ import annotations

import re

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient

from tests.support.served import asking
from transduce.serving.service import Served
from transduce.translator import Translator

MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
NOT_PROMISED = [
    # A language or a run that is none here fits the document, and is refused all the same.
    positive_data_acceptance,
]


@pytest.mark.parametrize("mode", MODES, ids=["fitting", "unfitting"])
def test_what_the_document_says_is_so(demo: Translator, mode: GenerationMode) -> None:
    with asking(Served.of("demo", demo), characters=101, texts=5) as client:
        schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
        operations = [result.ok() for result in schema.get_all_operations()]
        assert len(operations) > 8
        for operation in operations:
            if mode is GenerationMode.NEGATIVE and operation.method == "get":
                continue

            @settings(
                max_examples=5 if operation.path.startswith("/inspect") else 17,
                derandomize=True,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: schemathesis.Case) -> None:
                case.call_and_validate(excluded_checks=NOT_PROMISED)

            check()


def test_nothing_of_the_pages_comes_from_elsewhere(client: TestClient) -> None:
    page = client.get("/docs").text
    for asset in ("docs.css", "docs.js"):
        assert asset in page and client.get(f"/{asset}").status_code == 200
    for path in ("/docs", "/docs.js", "/docs.css"):
        assert not re.search(r"https?://|<style|style=|onload=|<script>", client.get(path).text)
    for path in ("/redoc", "/docs/oauth2-redirect"):
        assert client.get(path).status_code == 404
