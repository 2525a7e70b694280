"""The web application around a service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from transduce.serving import files, libretranslate, native
from transduce.serving.asking import posting_needs_key
from transduce.serving.guard import Guard
from transduce.serving.inspecting import inspecting
from transduce.serving.refusal import Refusal
from transduce.serving.service import Service
from transduce.serving.translating import STATUSES, problems
from transduce.text.lines import safe

VERSION = "1"
"""Of the interface."""


def application(service: Service) -> FastAPI:
    """Every route of a server; at its end the service is closed."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(service.close)

    # FastAPI's own pages of documentation load their scripts from elsewhere.
    app = FastAPI(title="transduce", version=VERSION, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.service = service
    app.include_router(libretranslate.router(service))
    app.include_router(native.router(service))
    folders = {run.name: run.folder for run in service.runs.values() if run.folder is not None}
    app.include_router(
        inspecting(service, folders), dependencies=[Depends(posting_needs_key)], responses=problems(*STATUSES)
    )
    app.include_router(files.router())
    app.add_middleware(Guard, service=service)
    if service.config.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=service.config.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )

    @app.exception_handler(Refusal)
    async def refuse(_: Request, refusal: Refusal) -> Response:
        return refusal.answer()

    @app.exception_handler(HTTPException)
    async def refuse_route(_: Request, error: HTTPException) -> Response:
        answer = Refusal(error.status_code, str(error.detail).lower()).answer()
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(RequestValidationError)
    async def refuse_fields(_: Request, error: RequestValidationError) -> Response:
        # Where and why, and not what came instead.
        told = (f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()[:3])
        return Refusal(400, safe("; ".join(told))[:500]).answer()

    return app
