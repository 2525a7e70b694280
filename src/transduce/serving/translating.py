"""From a question to documents, for both interfaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import Request
from pydantic import BaseModel

from transduce.serving.asking import FORMS, service_of
from transduce.serving.config import ServingConfig
from transduce.serving.job import Hear, Job, Wish
from transduce.serving.refusal import Refusal
from transduce.serving.schemas import Problem
from transduce.serving.service import Served
from transduce.text.protected import Format

STATUSES = {
    400: "A field is missing, wrong or out of its range.",
    401: "An API key is needed.",
    403: "Called by another name, or from a page of another site.",
    404: "There is no run of this name.",
    408: "The request was not whole before the deadline.",
    413: "The body is too large.",
    415: "The body is of another type.",
    422: "More text than is taken at once, or a beam for a run that has no search.",
    429: "Too many requests of one address.",
    500: "A fault of the server.",
    503: "Too much to do, stopping, or not done before the deadline.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer instead of a result, for the OpenAPI document."""
    return {status: {"model": Problem, "description": STATUSES[status]} for status in statuses}


def body_of(model: type[BaseModel], *, forms: bool) -> dict[str, Any]:
    """The body of a route, which reads it by itself, for the OpenAPI document."""
    kinds = ("application/json", *(FORMS if forms else ()))
    return {"requestBody": {"required": True, "content": {k: {"schema": model.model_json_schema()} for k in kinds}}}


def check_texts(texts: Sequence[str], config: ServingConfig) -> None:
    if not texts:
        raise Refusal(400, "there is no text to translate")
    if len(texts) > config.texts:
        raise Refusal(422, f"{len(texts):,} texts, more than the {config.texts:,} that this server takes at once")
    for number, text in enumerate(texts, start=1):
        if len(text) > config.characters:
            raise Refusal(
                422,
                f"text {number} has {len(text):,} characters, more than the {config.characters:,} that this server "
                "takes: send it in parts",
            )


def job_of(
    request: Request,
    run: Served,
    texts: Sequence[str],
    *,
    format: Format,
    nbest: int = 1,
    beam: int | None = None,
    alignment: bool = False,
    hear: Hear | None = None,
) -> Job:
    """A job of some texts for a run; of `nbest` translations it gives as many as the run has."""
    service = service_of(request)
    check_texts(texts, service.config)
    nbest = min(nbest, service.most(run))
    options = ({"nbest": nbest} if nbest > 1 else {}) | ({} if beam is None else {"beam": beam})
    return Job(texts, Wish(alignment, options), request.state.deadline, format=format, hear=hear)


def choose(request: Request, name: str | None, source: str, target: str | None) -> Served:
    """The run that is asked for by its name or its languages."""
    service = service_of(request)
    if name is None:
        if target is None:
            raise Refusal(400, "target: missing; expected the code of a language, or the name of a run in run")
        return service.choose(source, target)
    run = service.run(name)
    service.check_languages(run, source, target)
    return run
