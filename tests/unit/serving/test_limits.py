"""Every limit by its status and body; who is let in; what every answer carries."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from tests.support.served import asking, listening, served, until
from tests.unit.serving.conftest import model_of
from tests.unit.serving.test_libretranslate import ASK, refused
from transduce.errors import ConfigError
from transduce.serving.config import ServingConfig
from transduce.serving.guard import HEADERS, loopback_names, parse_rate
from transduce.translator import Translator

KEY = "a key of some 30 letters, no less"


def post(client: Any, q: Any = "red", **options: Any) -> Any:
    return client.post("/translate", json={"q": q, **ASK}, **options)


def test_the_limits_that_are_on_by_default() -> None:
    config = ServingConfig()
    assert (config.body, config.characters, config.texts, config.nbest) == (2**20, 10_000, 64, 10)
    assert (config.queue, config.deadline) == (128, 30.0)


def test_the_body_is_limited(copier: Translator) -> None:
    with asking(served(copier), body=500) as client:
        assert post(client, "r" * 400).status_code == 200
        refused(post(client, "r" * 500), 413, "500 bytes")
        parts = (b"x" * 100 for _ in range(7))
        refused(client.post("/translate", content=parts, headers={"Content-Type": "application/json"}), 413, "500")
        assert post(client).status_code == 200


def test_case_169_a_file_of_4_mb_is_refused_at_once(copier: Translator) -> None:
    with listening(served(copier)) as (client, _):
        body = {"q": "word " * 800_000, **ASK}
        for options in ({"json": body}, {"data": body}, {"files": {"file": ("a.txt", b"word " * 800_000)}}):
            started = time.monotonic()
            refused(client.post("/translate", **options), 413, "1,048,576 bytes")
            assert time.monotonic() - started < 10
        where = (client.base_url.host, client.base_url.port)
        with socket.create_connection(where, timeout=10) as raw:
            # One that sends everything before it reads is not cut off meanwhile.
            raw.sendall(f"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: {2**22}\r\n\r\n".encode())
            raw.sendall(bytes(2**22))
            assert raw.recv(1000).startswith(b"HTTP/1.1 413 ")
        with socket.create_connection(where, timeout=10) as raw:
            raw.sendall(f"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: {10**15}\r\n\r\n{{".encode())
            assert raw.recv(1000).startswith(b"HTTP/1.1 413 ")
        assert post(client).status_code == 200


def test_texts_are_limited(copier: Translator) -> None:
    with asking(served(copier), characters=11, texts=3) as client:
        assert post(client, ["r" * 11] * 3).status_code == 200
        refused(post(client, ["red", "r" * 12]), 422, "text 2 has 12 characters", "11")
        refused(post(client, ["red"] * 4), 422, "4 texts", "3")
        refused(client.post("/v1/translate", json={"text": "r" * 12, "target": "de"}), 422, "12 characters")
        refused(client.post("/inspect/record", json={"text": "r" * 12, "run": "copy"}), 422, "12 characters")
        refused(client.post("/detect", json={"q": "r" * 12}), 422, "12 characters")


def test_hypotheses_are_limited(copier: Translator) -> None:
    with asking(served(copier), nbest=3) as client:
        assert (
            client.post("/v1/translate", json={"text": "red", "target": "de", "nbest": 3, "beam": 3}).status_code == 200
        )
        refused(client.post("/v1/translate", json={"text": "red", "target": "de", "nbest": 4}), 400, "from 1 to 3")
        refused(client.post("/v1/translate", json={"text": "red", "target": "de", "beam": 4}), 400, "from 1 to 3")
        refused(client.post("/translate", json={"q": "red", **ASK, "alternatives": 3}), 400, "from 0 to 2")
        refused(client.post("/inspect/record", json={"text": "red", "run": "copy", "beam": 4}), 400, "3")


def test_the_queue_and_the_deadline_are_limited(copier: Translator) -> None:
    model = model_of(copier)
    model.may_begin.clear()
    with asking(served(copier), queue=2, deadline=1.0) as client, ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(post, client) for _ in range(2)]
        figure = 'transduce_waiting_requests{run="copy"} 2.0'
        until(lambda: figure in client.get("/metrics").text)
        full = post(client)
        refused(full, 503, "2 requests")
        assert full.headers["Retry-After"] == "1"
        for answer in (each.result() for each in waiting):
            refused(answer, 503, "deadline")
            assert answer.headers["Retry-After"] == "5"
        model.let_go()
        until(lambda: 'run="copy"} 0.0' in client.get("/metrics").text)
        assert post(client).status_code == 200


def test_a_body_that_does_not_come_ends_at_the_deadline(copier: Translator) -> None:
    def slow() -> Any:
        yield b'{"q": '
        time.sleep(0.6)
        yield b'"red"}'

    with listening(served(copier), deadline=0.3) as (client, _):
        answer = client.post("/translate", content=slow(), headers={"Content-Type": "application/json"})
        refused(answer, 408, "deadline")


def test_case_155_the_rate_is_by_address_whatever_a_header_says(copier: Translator) -> None:
    with listening(served(copier), rate="5/minute") as (client, _):
        answers = [post(client, headers={"X-Forwarded-For": f"10.0.0.{i}"}) for i in range(20)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 15
        for answer in answers[5:]:
            refused(answer, 429, "5 per 1 minute")
            assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert client.get("/health").status_code == 200
    with listening(served(copier), rate="1/minute", proxies=("127.0.0.1",)) as (client, _):
        by = [
            post(client, headers={"X-Forwarded-For": address}) for address in ("10.0.0.1, 10.0.0.2", "10.0.0.2", "::1")
        ]
        assert [answer.status_code for answer in by] == [200, 429, 200]


def test_what_is_no_rate_is_refused() -> None:
    assert parse_rate("") is None
    with pytest.raises(ConfigError, match="60/minute"):
        parse_rate("many")


def test_a_key_is_asked_for(copier: Translator) -> None:
    with asking(served(copier), keys=("another key, as long as it", KEY)) as client:
        for path, body in (("/translate", {"q": "red", **ASK}), ("/v1/translate", {"text": "red", "target": "de"})):
            without = client.post(path, json=body)
            refused(without, 401, "asks for an API key")
            assert without.headers["WWW-Authenticate"] == "Bearer"
            refused(client.post(path, json=body, headers={"Authorization": "Bearer wrong"}), 401, "not known")
            assert client.post(path, json=body, headers={"Authorization": f"Bearer {KEY}"}).status_code == 200
        assert client.post("/translate", json={"q": "red", **ASK, "api_key": KEY}).status_code == 200
        assert client.post("/translate", data={"q": "red", **ASK, "api_key": KEY}).status_code == 200
        for wrong in ("", KEY[:-1], KEY + "x", "é", "\ud800", [KEY], 7, None):
            answer = client.post("/translate", content=_json(q="red", **ASK, api_key=wrong), headers=JSON)
            refused(answer, 401)
        for path in ("/detect", "/inspect/record", "/inspect/contexts"):
            refused(
                client.post(path, json={"q": "red", "text": "red", "run": "copy", "first": "a", "second": "b"}), 401
            )
        refused(client.get("/metrics"), 401)
        for path in ("/", "/health", "/languages", "/frontend/settings", "/v1/runs", "/openapi.json", "/docs"):
            assert client.get(path).status_code == 200


JSON = {"Content-Type": "application/json"}


def _json(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def test_names_that_lead_here_from_elsewhere_are_refused(copier: Translator) -> None:
    with asking(served(copier), hosts=loopback_names(["Translate.Example"]), origins=("https://a.example",)) as client:
        for host in ("localhost", "127.0.0.1:8000", "[::1]:8000", "[::1]", "LOCALHOST:1", "translate.example:443"):
            assert client.get("/health", headers={"Host": host}).status_code == 200
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "", "2130706433"):
            refused(client.get("/health", headers={"Host": host}), 403, "--allow-host")
            refused(post(client, headers={"Host": host}), 403)
        for origin, status in (
            ("http://localhost", 200),
            ("https://a.example", 200),
            ("http://localhost:3000", 403),
            ("https://evil.example", 403),
            ("null", 403),
        ):
            assert post(client, headers={"Host": "localhost", "Origin": origin}).status_code == status


def test_other_sites_read_nothing_unless_they_may(copier: Translator) -> None:
    theirs = {"Origin": "https://a.example"}
    with asking(served(copier)) as client:
        assert "Access-Control-Allow-Origin" not in post(client, headers=theirs).headers
    with asking(served(copier), origins=("https://a.example",), rate="1/minute") as client:
        assert post(client, headers=theirs).headers["Access-Control-Allow-Origin"] == "https://a.example"
        # A page must be able to read why it was refused.
        again = post(client, headers=theirs)
        assert again.status_code == 429 and again.headers["Access-Control-Allow-Origin"] == "https://a.example"
        assert "Access-Control-Allow-Origin" not in post(client, headers={"Origin": "https://b.example"}).headers


@pytest.mark.parametrize("path", ["/", "/health", "/nothing", "/openapi.json", "/js/app.js", "/docs.js"])
def test_every_answer_has_the_headers(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';") and "unsafe" not in policy
    assert answer.headers["Content-Type"].partition(";")[0] in {
        "text/html", "application/json", "text/javascript",
    }  # fmt: skip
    refusal = client.post("/translate", content=b"x" * 2**21)
    assert refusal.status_code == 413 and {name: refusal.headers[name] for name in HEADERS} == HEADERS


def test_case_190_markup_is_data(client: TestClient) -> None:
    text = "<svg onload=alert(1)>"
    for answer in (post(client, text), client.post("/translate", json={"q": text, "source": text, "target": text})):
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert post(client, text).json() == {"translatedText": text}
    assert text not in client.get(f"/{text}").text


def test_unknown_routes_and_methods_are_told(client: TestClient) -> None:
    refused(client.get("/nothing"), 404, "/docs")
    refused(client.post("/nothing"), 405)
    wrong = client.get("/translate")
    assert wrong.status_code in (404, 405) and list(wrong.json()) == ["error"]


def test_nothing_that_a_client_says_is_logged_or_counted(
    copier: Translator, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    with listening(served(copier), keys=(KEY,)) as (client, service):
        post(client, "a secret", headers={"Authorization": f"Bearer {KEY}"})
        post(client, "a secret", headers={"Authorization": "Bearer wrong key"})
        client.get("/languages?q=secret", headers={"X-Forwarded-For": "10.0.0.1"})
        monkeypatch.setattr(copier, "translate", lambda *_, **__: [][0])
        assert post(client, "a secret", headers={"Authorization": f"Bearer {KEY}"}).status_code == 500
        figures = service.metrics.text().decode()
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("transduce", "uvicorn"))]
    assert any("IndexError at" in line for line in ours)
    for word in ("secret", KEY, "wrong key", "10.0.0.1", "127.0.0.1"):
        assert word not in figures and not [line for line in ours if word in line]


def test_case_194_labels_hold_no_key_and_no_address(copier: Translator) -> None:
    keys = tuple(f"key number {i} of fifty" for i in range(50))

    def series() -> list[str]:
        return sorted(line.rpartition(" ")[0] for line in client.get("/metrics", headers=known).text.split("\n"))

    with asking(served(copier), keys=keys) as client:
        known = {"Authorization": f"Bearer {keys[0]}"}
        post(client, headers=known)
        post(client)
        client.get("/nothing")
        series()
        before = series()
        for i, key in enumerate(keys):
            headers = {"X-Forwarded-For": f"10.0.0.{i}", "Authorization": f"Bearer {key}"}
            assert post(client, f"text {i}", headers=headers).status_code == 200
            post(client, headers={"X-Forwarded-For": f"10.0.0.{i}", "Authorization": f"Bearer no{key}"})
            client.get(f"/nothing/{i}")
        assert series() == before
        assert not [line for line in before if "key number" in line or "10.0.0" in line or "text " in line]


def test_case_167_three_threads_get_the_same(copier: Translator) -> None:
    with listening(served(copier)) as (client, _), ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: post(client, "red blue"), range(3)))
    assert [answer.json() for answer in answers] == [{"translatedText": "red blue"}] * 3


def test_a_client_that_goes_away_takes_its_request_along(copier: Translator) -> None:
    model = model_of(copier)
    model.may_begin.clear()
    with listening(served(copier)) as (client, service), ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, client, "red")
        until(lambda: model.batches)
        for path, body in (
            ("/translate", {"q": "green", **ASK}),
            ("/v1/translate", {"text": "green", "target": "de", "stream": True}),
        ):
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{client.base_url}{path}", json=body, timeout=0.2)
        until(lambda: 'run="copy"} 1.0' in service.metrics.text().decode())
        model.let_go()
        assert first.result().json() == {"translatedText": "red"}
    assert model.batches == [1]


def test_stopping_finishes_what_was_begun_and_refuses_the_rest(copier: Translator) -> None:
    model = model_of(copier)
    model.may_begin.clear()
    with asking(served(copier)) as client, ThreadPoolExecutor(1) as pool:
        begun = pool.submit(post, client, "red")
        until(lambda: model.batches)
        service = client.app.state.service  # type: ignore[attr-defined]
        closing = threading.Thread(target=service.close)
        closing.start()
        until(lambda: service.stopping)
        late = post(client, "blue")
        refused(late, 503, "stopping")
        assert late.headers["Retry-After"] == "5"
        refused(client.get("/health"), 503)
        model.let_go()
        assert begun.result().json() == {"translatedText": "red"}
        closing.join(20)
        assert not closing.is_alive()
