"""Every task that makes text of text, served: a client is given what the run's translator gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.copy_run import load
from tests.support.fresh_run import ONE_PASS, fresh_run
from tests.support.served import asking
from tests.unit.serving.test_libretranslate import refused
from tests.unit.serving.test_native import events
from transduce.serving.service import Served
from transduce.tasks import TASKS
from transduce.translator import Translator

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

LABELLERS = ("rnn", "lstm", "gru", "mean", "concat")
WHOLE = ("answer", "classify")
LANGUAGES = dict(zip(("word", *ONE_PASS), ("ca", "da", "es", "fi", "fr", "it", "nl", "sv"), strict=True))
STORY = "one two . See https://a.org/b of 3 {n} . cat red . two <b>blue</b> ?"


@pytest.fixture(scope="module")
def translators(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Translator]:
    folder = tmp_path_factory.mktemp("runs")
    return {name: load(fresh_run(folder / name, name)) for name in ("word", *ONE_PASS)}


@pytest.fixture(scope="module")
def client(translators: dict[str, Translator]) -> Iterator[TestClient]:
    """All of them behind one server, each from a language of its own."""
    runs = [Served(name, translators[name], code, "en") for name, code in LANGUAGES.items()]
    with asking(*runs) as found:
        yield found


def ask(client: TestClient, run: str, text: Any, **options: Any) -> Any:
    answer = client.post("/v1/translate", json={"text": text, "run": run, **options})
    assert answer.status_code == 200, answer.text
    return answer.json()["translations"]


def test_every_task_that_makes_text_of_text_is_here(translators: dict[str, Translator]) -> None:
    served = {translator.task.name for translator in translators.values()}
    assert served == {name for name, task in TASKS.items() if task.command == "translate"}


def test_what_a_run_does_is_told_with_its_languages_where_it_has_them(translators: dict[str, Translator]) -> None:
    assert Served("answer", translators["answer"], "", "").does == "memory_network"
    assert Served("word", translators["word"], "ca", "en").does == "ca to en, transformer"


def test_the_list_says_what_each_run_can_do(client: TestClient) -> None:
    keys = ("translates", "nbest", "alignment", "whole")
    told = {run["name"]: tuple(run[key] for key in keys) for run in client.get("/v1/runs").json()}
    assert told == {
        "word": (True, 10, True, False),
        **dict.fromkeys(LABELLERS, (True, 1, False, False)),
        **dict.fromkeys(WHOLE, (True, 10, False, True)),
    }


@pytest.mark.parametrize("name", ["word", *ONE_PASS])
def test_more_translations_may_be_asked_for_than_there_are(
    client: TestClient, translators: dict[str, Translator], name: str
) -> None:
    text, count = "one two red", 1 if name in LABELLERS else 3
    (expected,) = translators[name].translate([text], **({} if count == 1 else {"nbest": count}))
    texts = [one.text for one in expected.alternatives]
    assert len(texts) == count
    (found,) = ask(client, name, text, nbest=3, alignment=True)
    assert [one["text"] for one in found["alternatives"]] == texts
    assert found["log_probability"] == pytest.approx(expected.alternatives[0].log_probability, abs=1e-4)
    *tokens, (last, done) = events(client, text=text, run=name, nbest=3)
    assert last == "done" and [one["text"] for one in done["translations"][0]["alternatives"]] == texts
    assert "".join(event["token"] for _, event in tokens) == expected.text
    question = {"q": text, "source": LANGUAGES[name], "target": "en", "alternatives": 2}
    libre = client.post("/translate", json=question).json()
    assert libre == {"translatedText": texts[0], "alternatives": texts[1:]}


@pytest.mark.parametrize("name", LABELLERS)
def test_a_search_that_there_is_not_is_refused(client: TestClient, name: str) -> None:
    assert ask(client, name, "red", beam=1)
    refused(
        client.post("/v1/translate", json={"text": "red", "run": name, "beam": 3}), 422, "decoding.beam", "leave it"
    )
    ((event, told),) = events(client, text="red", run=name, beam=3)
    assert (event, told["status"]) == ("error", 422)


@pytest.mark.parametrize("name", ["word", *LABELLERS])
def test_other_texts_are_cut_into_sentences(client: TestClient, name: str) -> None:
    (found,) = ask(client, name, "One two. Red blue.\nCat dog.")
    assert len(found["sentences"]) == 3 and found["text"].count("\n") == 1


@pytest.mark.parametrize("name", WHOLE)
def test_a_text_is_read_as_a_whole(client: TestClient, translators: dict[str, Translator], name: str) -> None:
    (expected,) = translators[name].translate([STORY])
    assert expected.text in ("red blue 我爱水课", "one two three .", "x@@ y cat dog é"), "one answer of the vocabulary"
    lines = "  " + STORY.replace(" . ", " .\r\n\n") + "\n"
    markup = f"<div title='one'>{STORY}</div><!-- red --><script>cat . dog</script>".replace(" . ", " .</p>\n<p>")
    read = STORY.replace("<b>", " ").replace("</b>", " ")
    for text, format, output in (
        (STORY, "text", expected.text),
        (lines, "text", f"  {expected.text}\n"),
        (markup, "html", translators[name].translate([read])[0].text),
    ):
        (found,) = ask(client, name, text, format=format)
        assert found["text"] == output
        (sentence,) = found["sentences"]
        start, end = sentence["source_start"], sentence["source_end"]
        assert text[start:end] == text.strip()
        assert output[sentence["target_start"] : sentence["target_end"]] == output.strip()
        *tokens, (_, done) = events(client, text=text, run=name, format=format)
        assert [event["token"] for _, event in tokens] == [output.strip()]
        assert done["translations"][0]["text"] == output
    assert [one["text"] for one in ask(client, name, [STORY, " ", "", "cat"])][:3] == [expected.text, " ", ""]


def test_what_is_written_for_html_is_escaped(tmp_path: Path) -> None:
    translator = load(fresh_run(tmp_path, "answer"))
    translator.tokenizers.target.decode = lambda ids, **_: "<b> & c"  # type: ignore[method-assign]
    with asking(Served.of("answer", translator)) as client:
        assert ask(client, "answer", "<p>red</p>", format="html")[0]["text"] == "&lt;b&gt; &amp; c"
        assert ask(client, "answer", "<p> </p>", format="html")[0]["text"] == "<p> </p>"


def test_a_text_that_the_model_has_no_room_for_is_refused_by_its_number(client: TestClient) -> None:
    text = "red . " * 99
    assert len(ask(client, "classify", text)[0]["sentences"]) == 1
    for stream in (False, True):
        question = {"text": ["red", f"{text} red"], "run": "classify", "stream": stream}
        answer = client.post("/v1/translate", json=question)
        assert "text 2 has 199 tokens, more than the 198 of" in answer.text and "shorten it" in answer.text
        assert answer.status_code == (200 if stream else 422)
    assert ask(client, "answer", f"{text} red"), "a memory network has room for any text"
