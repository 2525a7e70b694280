"""The routes that LibreTranslate's clients call: their shapes, and what is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.scripted_model import scripted
from tests.support.served import asking, served
from tests.unit.serving.conftest import model_of
from transduce.translator import Translator

ASK = {"source": "en", "target": "de"}


def ask(client: TestClient, q: Any, **fields: Any) -> Any:
    answer = client.post("/translate", json={"q": q, **ASK, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: Any, status: int, *words: str) -> None:
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    for word in words:
        assert word in answer.json()["error"]
    for inside in ("Traceback", "pydantic", "torch", "/src/", ".py", "null string"):
        assert inside not in answer.text


def test_a_text_and_a_list_of_texts(client: TestClient) -> None:
    assert ask(client, "red blue") == {"translatedText": "red blue"}
    assert ask(client, ["red", "", "blue green"]) == {"translatedText": ["red", "", "blue green"]}


def test_alternatives_are_beside_the_best(client: TestClient) -> None:
    one = ask(client, "red blue", alternatives=2)
    assert one["translatedText"] == "red blue"
    assert len(one["alternatives"]) == 2 and "red blue" not in one["alternatives"]
    both = ask(client, ["red blue", "red"], alternatives=2)
    assert both["alternatives"][0] == one["alternatives"] and len(both["alternatives"]) == 2


def test_auto_is_told_by_the_target(copier: Translator) -> None:
    runs = [served(copier, "a", "en", "de"), served(copier, "b", "fr", "en"), served(copier, "c", "fr", "es")]
    with asking(*runs) as client:
        found = client.post("/translate", json={"q": ["red", "x"], "source": "auto", "target": "de"}).json()
        assert found["detectedLanguage"] == [{"confidence": 100, "language": "en"}] * 2
        assert client.post("/detect", json={"q": "red"}).json() == [
            {"confidence": 50, "language": "en"},
            {"confidence": 50, "language": "fr"},
        ]
    with asking(*runs, served(copier, "d", "pt", "de")) as client:
        refused(client.post("/translate", json={"q": "red", "source": "auto", "target": "de"}), 400, "en or pt")
        refused(client.post("/translate", json={"q": "red", "source": "en", "target": "es"}), 400, "en to de, fr to en")


def test_languages_and_settings(copier: Translator) -> None:
    runs = [served(copier, "a", "en", "de"), served(copier, "b", "en", "pt-BR"), served(copier, "c", "de", "en")]
    with asking(*runs, characters=700, keys=("a key of 20 letters!",)) as client:
        assert client.get("/languages").json() == [
            {"code": "en", "name": "English", "targets": ["de", "pt-BR"]},
            {"code": "de", "name": "German", "targets": ["en"]},
            {"code": "pt-BR", "name": "Portuguese (BR)", "targets": []},
        ]
        settings = client.get("/frontend/settings").json()
        assert settings["charLimit"] == 700 and settings["keyRequired"] is True
        assert settings["language"]["target"] == {"code": "de", "name": "German"}
        assert client.get("/health").json() == {"status": "ok"}


def test_forms_are_read_as_json_is(client: TestClient) -> None:
    fields = {"q": "red blüe", **ASK, "alternatives": "1", "format": "text"}
    for answer in (
        client.post("/translate", data=fields),
        client.post("/translate", files={name: (None, value) for name, value in fields.items()}),
        client.post(
            "/translate",
            content="q=red blüe&source=en&target=de&alternatives=1".encode(),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        ),
    ):
        assert answer.status_code == 200, answer.text
        assert answer.json()["translatedText"] == "red blüe" and len(answer.json()["alternatives"]) == 1
    refused(client.post("/translate", files={"q": ("a.txt", b"red")}), 400, "no files")
    refused(client.post("/translate", content=b"q=red", headers={"Content-Type": "text/plain"}), 415, "json")


def test_case_4_a_blank_line_stays_blank(client: TestClient) -> None:
    assert ask(client, "uno\n\ndos")["translatedText"] == "uno\n\ndos"


def test_case_56_a_lone_surrogate_becomes_a_replacement(client: TestClient) -> None:
    body = b'{"q": "left\\udc00right", "source": "en", "target": "de", "\\ud800": 1}'
    answer = client.post("/translate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200 and answer.json() == {"translatedText": "left\ufffdright"}


def test_case_127_every_sentence_is_translated(client: TestClient, copier: Translator) -> None:
    text = "One two. Three four!  Five six?"
    assert ask(client, text)["translatedText"] == text
    assert model_of(copier).asked == 3


def test_case_128_as_many_sentences_come_out(client: TestClient, copier: Translator) -> None:
    for count in range(1, 9):
        model_of(copier).reset()
        text = " ".join(["One two three.", "Four five!", "Is it six?"][i % 3] for i in range(count))
        assert ask(client, text)["translatedText"] == text
        assert model_of(copier).asked == count


def test_case_130_an_empty_hypothesis_is_an_empty_text(tmp_path: Path) -> None:
    silent = scripted(tmp_path, lambda translator: lambda ids: [])
    with asking(served(silent)) as client:
        assert ask(client, "red blue") == {"translatedText": ""}
        assert ask(client, ["red", "blue"], alternatives=1)["translatedText"] == ["", ""]


def test_case_151_a_repeated_field_is_a_list(client: TestClient) -> None:
    answer = client.post("/translate", data={"q": ["a", "b"], **ASK})
    assert answer.json() == {"translatedText": ["a", "b"]}


@pytest.mark.parametrize(
    "fields", [{}, {"q": ""}, {"q": "\u0000"}, {"q": []}, {"q": None}, {"q": [1]}, {"q": {"a": 1}}]
)
def test_case_152_no_text_is_refused_in_words_of_our_own(client: TestClient, fields: dict[str, Any]) -> None:
    refused(client.post("/translate", json={**ASK, **fields}), 400, "text")
    if fields.get("q") in (None, "", "\u0000"):
        refused(client.post("/translate", data={**ASK, **fields}), 400, "text")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1]", b"null", b'"\xff"', b"[" * 100_000, b"[" * 700 + b"]" * 700, b'{"q":' + b"9" * 5000 + b"}"],
)
def test_case_152_no_json_is_refused(client: TestClient, body: bytes) -> None:
    refused(client.post("/translate", content=body, headers={"Content-Type": "application/json"}), 400, "JSON")


@pytest.mark.parametrize("number", ["10000", "-1", "1e309", '"3"', "null", "true", "2.0", "NaN", "1" * 5000])
def test_case_154_a_number_out_of_range_is_refused_with_the_limit(client: TestClient, number: str) -> None:
    def post(path: str, field: str, rest: dict[str, Any]) -> Any:
        body = json.dumps(rest)[:-1] + f', "{field}": {number}}}'
        return client.post(path, content=body, headers={"Content-Type": "application/json"})

    words = [] if len(number) > 100 else ["from 0 to 9"]
    refused(post("/translate", "alternatives", {"q": "red", **ASK}), 400, *words)
    if number != "null":
        words = [] if len(number) > 100 else ["from 1 to 10"]
        refused(post("/v1/translate", "beam", {"text": "red", "target": "de"}), 400, *words)
        refused(post("/v1/translate", "nbest", {"text": "red", "target": "de"}), 400, *words)
    started = time.monotonic()
    assert ask(client, "red") == {"translatedText": "red"}
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("code", ["zh-Hans", "zh_CN", "ZH", "zh", "zh-hans-cn"])
def test_case_172_codes_are_matched(copier: Translator, code: str) -> None:
    runs = [served(copier, "a", "zh", "pt-BR"), served(copier, "b", "en", "zh")]
    with asking(*runs) as client:
        assert client.post("/translate", json={"q": "red", "source": code, "target": "pt_br"}).status_code == 200
        for unknown in ("xx", "", "pt-BR-", "日本", "a" * 300):
            answer = client.post("/translate", json={"q": "red", "source": unknown, "target": "pt"})
            refused(answer, 400, "zh, en")
        told = client.post("/translate", json={"q": "red", "source": "auto", "target": "ZH_cn"}).json()
        assert told["detectedLanguage"]["language"] == "en"


def test_case_175_numbers_have_the_type_of_the_document(client: TestClient) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["Detected"]["properties"]["confidence"]["type"] == "integer"
    answer = client.post("/translate", json={"q": "red", "source": "auto", "target": "de"})
    assert '"confidence":100,' in answer.text
    assert '"confidence":100,' in client.post("/detect", json={"q": "red"}).text


def test_case_184_only_line_feeds_end_lines(client: TestClient) -> None:
    # A lone carriage return ends none: it is white space inside a sentence, which no vocabulary writes otherwise.
    assert ask(client, "one\r\ntwo\rthree\n")["translatedText"] == "one\r\ntwo three\n"


@pytest.mark.parametrize("text", ["one ((newline)) two", "｟newline｠", "a\n((newline))\nb"])
def test_case_185_a_typed_placeholder_comes_back(client: TestClient, text: str) -> None:
    assert ask(client, text)["translatedText"] == text


def test_case_187_emoji_come_back(client: TestClient) -> None:
    text = "Great job 👍🏽 👩‍👧 🇧🇷"
    assert ask(client, text)["translatedText"] == text


def test_case_188_quotes_come_back(client: TestClient) -> None:
    text = 'it\'s "ok" \\ / end'
    assert ask(client, text)["translatedText"] == text


@pytest.mark.parametrize("name", ["../../etc/passwd", "..%2f..%2fx", "a/b", "C:\\x", "x\u0000", "n" * 300, "", "."])
def test_case_193_names_are_looked_up_among_the_loaded(client: TestClient, name: str) -> None:
    for path, body in (
        ("/v1/translate", {"text": "red", "run": name}),
        ("/inspect/record", {"text": "red", "run": name}),
        ("/inspect/contexts", {"first": "red", "second": "red", "run": name}),
    ):
        refused(client.post(path, json=body), 404, "copy")


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/..%2f..%2fx", "/js/../../__init__.py", "/__init__.py", "/%2e%2e/etc", "/js/%00"]
)
def test_case_193_files_are_looked_up_too(client: TestClient, path: str) -> None:
    refused(client.get(path), 404)
