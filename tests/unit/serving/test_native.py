"""The interface with all that is known: scores, n best, alignment, and tokens as they come."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.served import asking, served
from tests.unit.serving.conftest import model_of
from tests.unit.serving.test_libretranslate import refused
from transduce.serving.service import Served
from transduce.translator import Translator, translate_document

Events = list[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def chinese(demo: Translator) -> Iterator[TestClient]:
    with asking(Served.of("demo", demo)) as client:
        yield client


def events(client: TestClient, **question: Any) -> Events:
    found = []
    with client.stream("POST", "/v1/translate", json={**question, "stream": True}) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        for block in "".join(answer.iter_text()).split("\n\n")[:-1]:
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_an_answer_has_all_that_is_known(chinese: TestClient, demo: Translator) -> None:
    text = "我爱水课。\n她爱水课。我爱水课"
    question = {"text": text, "target": "en", "nbest": 3, "alignment": True}
    answer = chinese.post("/v1/translate", json=question).json()
    assert (answer["run"], answer["source"], answer["target"]) == ("demo", "zh", "en")
    document = translate_document(demo, text, nbest=3, alignment=True)
    (one,) = answer["translations"]
    assert one["text"] == document.text and one["score"] == pytest.approx(document.translation.score, abs=1e-4)
    assert [each["text"] for each in one["alternatives"]] == [a.text for a in document.translation.alternatives]
    for link, expected in zip(one["alignment"], document.translation.alignment, strict=True):
        assert link == pytest.approx(asdict(expected), abs=1e-3)
        assert 0 < link["probability"] <= 1
    assert [(each["source_start"], each["source_end"]) for each in one["sentences"]] == [(0, 5), (6, 11), (11, 15)]
    for each in one["sentences"]:
        assert one["text"][each["target_start"] : each["target_end"]].strip()


def test_a_list_has_an_answer_for_each(client: TestClient) -> None:
    answer = client.post("/v1/translate", json={"text": ["red", "", "two\nlines"], "target": "de"}).json()
    assert [each["text"] for each in answer["translations"]] == ["red", "", "two\nlines"]
    assert answer["translations"][1]["sentences"] == []


@pytest.mark.parametrize("options", [{}, {"beam": 1}, {"nbest": 2}])
def test_a_stream_ends_with_the_same_answer(chinese: TestClient, options: dict[str, int]) -> None:
    question = {"text": ["我爱水课", "她爱水课。我爱水课", "", "7"], "target": "en", **options}
    whole = chinese.post("/v1/translate", json=question).json()
    found = events(chinese, **question)
    assert [name for name, _ in found[:-1]] == ["token"] * (len(found) - 1) and found[-1][0] == "done"
    done = found[-1][1]
    assert [one["text"] for one in done["translations"]] == [one["text"] for one in whole["translations"]]
    told: dict[tuple[int, int], str] = defaultdict(str)
    for _, event in found[:-1]:
        told[event["text"], event["sentence"]] += event["token"]
    assert told[0, 0] == whole["translations"][0]["text"]
    assert [told[1, 0], told[1, 1]] == [
        whole["translations"][1]["text"][s["target_start"] : s["target_end"]]
        for s in whole["translations"][1]["sentences"]
    ]
    assert set(told) == {(0, 0), (1, 0), (1, 1)}


def test_greedy_tokens_come_one_by_one(client: TestClient) -> None:
    found = events(client, text="red blue green", target="de", beam=1)
    tokens = [event["token"] for _, event in found[:-1]]
    assert len(tokens) > 2 and "".join(tokens) == "red blue green"


def test_what_ends_a_stream_early_is_told(copier: Translator) -> None:
    with asking(served(copier), deadline=0.5) as client:
        model_of(copier).may_begin.clear()
        ((name, event),) = events(client, text="red", target="de")
        model_of(copier).let_go()
        assert name == "error" and event["status"] == 503 and "deadline" in event["error"]
        too_many = client.post("/v1/translate", json={"text": ["red"] * 65, "target": "de", "stream": True})
        refused(too_many, 422, "65 texts")


def test_a_run_is_chosen_by_name_or_languages(copier: Translator) -> None:
    with asking(served(copier, "a", "en", "de"), served(copier, "b", "en", "fr")) as client:
        for question, run in (
            ({"run": "b"}, "b"),
            ({"target": "fr"}, "b"),
            ({"target": "de-AT", "source": "en-GB"}, "a"),
            ({"run": "b", "source": "EN", "target": "fr_FR"}, "b"),
        ):
            assert client.post("/v1/translate", json={"text": "red", **question}).json()["run"] == run
        refused(client.post("/v1/translate", json={"text": "red"}), 400, "target: missing")
        refused(client.post("/v1/translate", json={"text": "red", "run": "b", "target": "de"}), 400, "en to fr")
        refused(client.post("/v1/translate", json={"text": "red", "run": "c"}), 404, "a, b")
        refused(client.post("/v1/translate", json={"text": "red", "run": "a", "colour": 1}), 400, "colour", "nbest")
        refused(
            client.post("/v1/translate", json={"text": "red", "run": "a", "format": "xml"}), 400, '"text" or "html"'
        )
        assert [run["name"] for run in client.get("/v1/runs").json()] == ["a", "b"]


def test_html_keeps_its_tags(client: TestClient) -> None:
    text = "<p>red <b>blue</b> &lt;i&gt;</p>"
    answer = client.post("/v1/translate", json={"text": text, "target": "de", "format": "html"}).json()
    assert answer["translations"][0]["text"] == text


def test_a_run_of_another_task_is_there_to_be_looked_into(copier: Translator) -> None:
    tables = copier.experiment.model_copy(update={"task": "generate"})
    writer = Translator(copier.models, copier.tokenizers, tables, copier.compute)
    with asking(served(writer, "writer", "fr", "fr"), served(copier)) as client:
        refused(client.post("/v1/translate", json={"text": "red", "run": "writer"}), 400, '"generate"')
        refused(client.post("/translate", json={"q": "red", "source": "fr", "target": "fr"}), 400, "expected one of en")
        assert [each["code"] for each in client.get("/languages").json()] == ["en", "de"]
        assert [each["task"] for each in client.get("/v1/runs").json()] == ["generate", "translate"]
    with asking(served(writer, "writer", "fr", "fr")) as client:
        refused(client.post("/translate", json={"q": "red", "source": "auto", "target": "fr"}), 400, "no run")
        assert client.get("/languages").json() == client.post("/detect", json={"q": "red"}).json() == []
        assert client.get("/frontend/settings").status_code == 200
