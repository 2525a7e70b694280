"""Reading what a request asks for, and waiting for it only as long as its client does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from transduce.serving.refusal import Refusal
from transduce.serving.service import Service
from transduce.text.lines import safe

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
MOST_FIELDS = 1000


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def needs_key(request: Request) -> None:
    """A dependency of what needs a key, given as `Authorization: Bearer KEY` or as `api_key` in a body."""
    service = service_of(request)
    if service.allows(None):
        return
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        given = (await fields(request))[0].get("api_key") if request.method == "POST" else None
        key = given if isinstance(given, str) else ""
    if not service.allows(key.strip()):
        raise Refusal(401, "this server asks for an API key" if not key else "this API key is not known here")


async def posting_needs_key(request: Request) -> None:
    """A dependency of routes where only computing needs a key."""
    if request.method == "POST":
        await needs_key(request)


async def fields(request: Request) -> tuple[dict[str, Any], Literal["json", "form"]]:
    """The fields of a body; of a form, a field that is repeated is a list. Lone surrogates become U+FFFD."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in FORMS:
        return await _form(request, kind), "form"
    if kind != "application/json":
        raise Refusal(415, f"Content-Type: expected application/json or {' or '.join(FORMS)}")
    try:
        body = _made_safe(json.loads(await request.body()))
    except (ValueError, RecursionError):
        raise Refusal(400, "the body is no JSON") from None
    if not isinstance(body, dict):
        raise Refusal(400, "expected a JSON object")
    return body, "json"


async def _form(request: Request, kind: str) -> dict[str, Any]:
    try:
        if kind == FORMS[0]:
            # Starlette takes bytes that were not percent-encoded for Latin-1; `curl -d` sends them, as UTF-8.
            text = (await request.body()).decode("utf-8", "replace")
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        else:
            most = service_of(request).config.body
            form = await request.form(max_files=0, max_fields=MOST_FIELDS, max_part_size=most)
            pairs = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    except (ValueError, HTTPException):
        raise Refusal(400, f"the form could not be read: expected up to {MOST_FIELDS:,} fields and no files") from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _made_safe(value: Any) -> Any:
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, list):
        return [_made_safe(each) for each in value]
    return {safe(key): _made_safe(each) for key, each in value.items()} if isinstance(value, dict) else value


async def asked(request: Request, model: type[M]) -> M:
    """What a body asks for. Raises Refusal with the field and what was expected there, in the words of the schema."""
    found, form = await fields(request)
    try:
        return model.model_validate(found, strict=form == "json")
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        if first["type"] == "extra_forbidden":
            known = ", ".join(model.model_fields)
            raise Refusal(400, f"{safe(field)[:80]}: no such field; there are: {known}") from None
        hint = model.model_fields[field].description or ""
        raise Refusal(
            400, f"{field}: {'missing' if first['type'] == 'missing' else 'not as expected'}; {hint}"
        ) from None


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of some work, which is cancelled when the client goes away."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Refusal(499, "the client went away")
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
