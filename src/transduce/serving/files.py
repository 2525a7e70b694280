"""The pages that come with the server: the translator, the look inside, and the description of the interface."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse

from transduce.page import FOLDER
from transduce.serving.refusal import Refusal

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""Only such files are handed out."""

STATIC = Path(__file__).with_name("static")


def files() -> dict[str, Path]:
    """Every file that is handed out, by its address. Addresses are looked up here; none of them becomes a path."""
    found = {
        f"/{path.relative_to(folder).as_posix()}": path
        for folder in (STATIC, FOLDER)
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES
    }
    return {**found, "/": FOLDER / "index.html", "/docs": STATIC / "docs.html"}


def router() -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    found = files()

    @routes.api_route("/{path:path}", methods=["GET", "HEAD"])
    async def file(request: Request) -> FileResponse:
        path = found.get(request.url.path)
        if path is None:
            raise Refusal(404, "there is nothing here; the interface is described at /docs")
        return FileResponse(path, media_type=TYPES[path.suffix], headers={"Cache-Control": "no-cache"})

    return routes
