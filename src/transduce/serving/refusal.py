"""The one way in which a request is refused."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse


class Refusal(Exception):
    """A request that gets no result: the status and the words of its answer, which hold no text of the user's."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        self.status, self.message, self.retry_after = status, message, retry_after
        super().__init__(message)

    def answer(self) -> JSONResponse:
        headers: Mapping[str, str] = {}
        if self.retry_after is not None:
            headers = {"Retry-After": str(self.retry_after)}
        elif self.status == 401:
            headers = {"WWW-Authenticate": "Bearer"}
        return JSONResponse({"error": self.message}, self.status, headers)
