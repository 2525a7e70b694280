"""The requests of Look inside: what they answer, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.served import asking, served
from transduce.demo.shipped import RUN
from transduce.inspection import record, similarities
from transduce.inspection.packing import unpacked
from transduce.page import PAYLOAD
from transduce.serving.service import Served
from transduce.translator import Translator

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


@pytest.fixture(scope="module")
def inside(demo: Translator) -> Iterator[TestClient]:
    with asking(Served.of("demo", demo, RUN), characters=40, nbest=4) as client:
        yield client


def asked(client: TestClient, **body: Any) -> Any:
    answer = client.post("/inspect/record", json={"run": "demo", "text": "我爱水课", **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_runs_say_what_they_are_and_bring_a_sentence(demo: Translator, copier: Translator) -> None:
    with asking(Served.of("demo", demo, RUN), served(copier, "copy")) as client:
        first, second = client.get("/inspect/runs").json()
    assert first == {
        "name": "demo", "model": "transformer", "source": "zh", "target": "en",
        "capabilities": ["cross-attention", "encoder-decoder"], "sample": "我爱水课",
    }  # fmt: skip
    assert (second["name"], second["source"], second["target"]) == ("copy", "en", "de")


def test_a_recording_is_that_of_the_package(inside: TestClient, demo: Translator) -> None:
    made, expected = asked(inside), record(demo, "我爱水课")
    assert made["notes"]["streams"]["expected"]["text"] == "I love easy courses"
    assert list(made["tensors"]) == list(expected.tensors)
    for name, tensor in expected.tensors.items():
        assert unpacked(made["tensors"][name]) == pytest.approx(tensor, abs=1e-5), name
    assert made["views"]["probes"][0]["source"] == "我爱水课"


def test_what_if_it_had_been_otherwise(inside: TestClient) -> None:
    plain = asked(inside)
    assert asked(inside, without_word=2)["notes"]["streams"]["source"]["text"] == "我爱课"
    assert (
        asked(inside, target="I love water courses")["notes"]["streams"]["expected"]["text"] == "I love water courses"
    )
    assert asked(inside, beam=1)["notes"]["tree"]["beam"] == 1
    water = plain["notes"]["vocabulary"].index(" water")
    begun = [token["id"] for token in plain["notes"]["streams"]["expected"]["tokens"][:2]]
    forced = asked(inside, prefix=[*begun, water])
    assert forced["notes"]["streams"]["expected"]["text"].startswith("I love water")
    off = asked(inside, without_heads=[["decoder.1.cross", 0], ["decoder.1.cross", 2]])
    heads = unpacked(off["tensors"]["decoder.1.cross.heads"])
    assert [bool(head.any()) for head in heads] == [False, True, False, True]


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"run": "../demo"}, 404, "there is no run of this name here"),
        ({"text": "水" * 41}, 422, "a text of 41 characters: this server takes up to 40"),
        ({"target": "a" * 41}, 422, "up to 40"),
        ({"text": " "}, 422, "expected one line of text"),
        ({"text": "a\nb"}, 422, "expected one line of text"),
        ({"beam": 5}, 400, "beam 5: this server searches with up to 4"),
        ({"beam": 0}, 400, "beam"),
        ({"without_word": 4}, 422, "without_word 4: expected 0 to 3"),
        ({"text": "水", "without_word": 0}, 422, "leave a word"),
        ({"without_heads": [["decoder.9.cross", 0]]}, 422, "head 0 of decoder.9.cross: expected one of"),
        ({"prefix": [99999]}, 422, "99999"),
        ({"prefix": [-1]}, 400, "prefix"),
        ({"other": 1}, 400, "other"),
    ],
)
def test_mistakes_are_refused_in_words(inside: TestClient, body: dict[str, Any], status: int, told: str) -> None:
    answer = inside.post("/inspect/record", json={"run": "demo", "text": "我爱水课", **body})
    assert (answer.status_code, told in answer.json()["error"]) == (status, True), answer.text


def test_the_page_to_be_saved_has_a_place_for_recordings(inside: TestClient) -> None:
    answer = inside.get("/inspect/page")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text.startswith("<!doctype html>") and answer.text.count(f">{PAYLOAD}<") == 1


def test_a_run_without_results_or_folder_has_no_sentence(copier: Translator, demo: Translator, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("[]", encoding="utf-8")
    with asking(Served.of("a", copier), Served.of("b", copier, tmp_path)) as client:
        assert [run["sample"] for run in client.get("/inspect/runs").json()] == ["", ""]


def test_a_key_is_needed_where_the_server_has_keys(demo: Translator) -> None:
    with asking(Served.of("demo", demo, RUN), keys=("a-long-enough-key",)) as client:
        body = {"run": "demo", "text": "我爱水课"}
        assert client.post("/inspect/record", json=body).status_code == 401
        given = {"Authorization": "Bearer a-long-enough-key"}
        assert client.post("/inspect/record", json=body, headers=given).status_code == 200


def test_words_that_stand_in_two_sentences(inside: TestClient, demo: Translator) -> None:
    answer = inside.post("/inspect/contexts", json={"run": "demo", "first": "我爱水课", "second": "我每天喝水"})
    made = answer.json()
    assert made["second"]["notes"]["streams"]["expected"]["text"] == "I drink water every day"
    first, second = (record(demo, text) for text in ("我爱水课", "我每天喝水"))
    expected = similarities(first, second, "水")
    assert [word["text"] for word in made["words"]] == ["我", "水"]
    assert [stage["place"] for stage in made["words"][1]["stages"]] == [stage.place for stage in expected]
    assert [s["cosine"] for s in made["words"][1]["stages"]] == pytest.approx([s.cosine for s in expected], abs=1e-5)


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"run": "../demo"}, 404, "there is no run of this name here"),
        ({"first": "水" * 41}, 422, "a text of 41 characters: this server takes up to 40"),
        ({"second": "水" * 41}, 422, "a text of 41 characters"),
        ({"second": " "}, 422, "expected one line of text"),
        ({"third": "水"}, 400, "third"),
    ],
)
def test_two_sentences_that_are_refused(inside: TestClient, body: dict[str, Any], status: int, told: str) -> None:
    answer = inside.post("/inspect/contexts", json={"run": "demo", "first": "水", "second": "水", **body})
    assert (answer.status_code, told in answer.text) == (status, True), answer.text
