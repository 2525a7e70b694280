"""The requests of Look inside: what runs there are, and the recording of a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse, Response

from transduce.errors import InputError, RunError
from transduce.inspection.alignment import text_without
from transduce.inspection.payload import payload
from transduce.inspection.recorder import record
from transduce.inspection.tokens import words
from transduce.inspection.words_in_context import contexts
from transduce.page import document
from transduce.run_folder.files import read_json
from transduce.serving.refusal import Refusal
from transduce.serving.service import Served, Service
from transduce.text.lines import safe
from transduce.translator import Translator


class Asked(BaseModel):
    """One sentence to be recorded."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    run: str
    """Name of a run of this server."""
    text: str
    """One line."""
    target: str | None = None
    """Takes the place of what the model would write."""
    beam: Annotated[int, Field(ge=1)] | None = None
    """Width of the search; the run's unless given."""
    prefix: list[Annotated[int, Field(ge=0)]] = []
    """Ids of pieces that the output must begin with."""
    without_heads: list[tuple[str, Annotated[int, Field(ge=0)]]] = []
    """Heads whose part is set to 0: [place, number from 0]."""
    without_word: Annotated[int, Field(ge=0)] | None = None
    """Number of a word, from 0, that is taken out of the text first."""


class Paired(BaseModel):
    """Two sentences that may share a word."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    run: str
    """Name of a run of this server."""
    first: str
    """One line."""
    second: str
    """One line."""


class Inspectable(BaseModel):
    """A run that can be looked into."""

    name: str
    model: str
    """Kind of its model."""
    source: str
    """Code of the language that it reads."""
    target: str
    """Code of the language that it writes."""
    capabilities: list[str]
    sample: str
    """A sentence to begin with; empty where the run has none."""


def inspecting(service: Service, folders: Mapping[str, Path]) -> APIRouter:
    """The routes under `/inspect`. `folders` are those of the runs by their names, for what training noted there."""
    router = APIRouter(prefix="/inspect", tags=["look inside"])

    @router.get("/runs")
    def runs() -> list[Inspectable]:
        """The runs that can be looked into."""
        return [_inspectable(run, folders.get(run.name)) for run in service.runs.values()]

    @router.post("/record", response_class=Response, responses={200: {"content": {"application/json": {}}}})
    async def record_sentence(asked: Asked) -> Response:
        """The recording of one sentence: every number of its way through the model, and of the search."""
        _refuse_large(asked, service)
        folder = folders.get(asked.run)
        journal = None if folder is None else folder / "journal.jsonl"
        content = await service.call(service.run(asked.run), lambda translator: _recorded(translator, asked, journal))
        return Response(content, media_type="application/json")

    @router.post("/contexts", response_class=Response, responses={200: {"content": {"application/json": {}}}})
    async def words_in_both(asked: Paired) -> Response:
        """{"second": the recording of the second sentence, "words": how alike each word of both is, stage by stage}."""
        _refuse_long(max(len(asked.first), len(asked.second)), service)
        content = await service.call(service.run(asked.run), lambda translator: _contexts(translator, asked))
        return Response(content, media_type="application/json")

    @router.get("/page", response_class=HTMLResponse)
    async def page() -> str:
        """The page as one file that needs no server; it fills in the recordings that it shows."""
        return await run_in_threadpool(document)

    return router


def _refuse_large(asked: Asked, service: Service) -> None:
    config = service.config
    _refuse_long(max(len(asked.text), len(asked.target or ""), len(asked.prefix)), service)
    if asked.beam is not None and asked.beam > config.nbest:
        raise Refusal(400, f"beam {asked.beam}: this server searches with up to {config.nbest}")


def _refuse_long(longest: int, service: Service) -> None:
    most = min(service.config.inspected, service.config.characters)
    if longest > most:
        raise Refusal(422, f"a text of {longest:,} characters: this server takes up to {most:,}")


def _recorded(translator: Translator, asked: Asked, journal: Path | None) -> bytes:
    text = asked.text if asked.without_word is None else _without_word(asked.text, asked.without_word)
    recording = record(
        translator,
        text,
        target=asked.target,
        beam=asked.beam,
        prefix=asked.prefix,
        without_heads=asked.without_heads,
    )
    return _json(payload(recording, translator, journal=journal))


def _contexts(translator: Translator, asked: Paired) -> bytes:
    first, second = (record(translator, text) for text in (asked.first, asked.second))
    return _json({"second": payload(second, translator), "words": contexts(first, second)})


def _json(made: dict[str, Any]) -> bytes:
    return json.dumps(made, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _without_word(text: str, number: int) -> str:
    line = safe(text).strip()
    places = words(line)
    if number >= len(places):
        raise InputError(f"without_word {number}: expected 0 to {len(places) - 1}, the number of a word of the text")
    return text_without(line, *places[number])


def _inspectable(run: Served, folder: Path | None) -> Inspectable:
    experiment, model = run.translator.experiment, run.translator.models[0]
    return Inspectable(
        name=run.name,
        model=experiment.model.kind,
        source=run.source,
        target=run.target,
        capabilities=sorted(model.capabilities),
        sample=_sample(run, folder),
    )


def _sample(run: Served, folder: Path | None) -> str:
    """A sentence that training followed, or else the first of those that were translated in the end."""
    for probe in run.translator.experiment.validation.probes:
        return probe.source
    try:
        results: Any = {} if folder is None else read_json(folder / "results.json")
        samples = [sample["source"] for test in results.get("tests", {}).values() for sample in test.get("samples", [])]
    except (OSError, RunError, AttributeError, KeyError, TypeError):
        # A run that was not finished has none.
        return ""
    return next((sample for sample in samples if isinstance(sample, str)), "")
