"""What every request passes first, whatever it is for: sizes, names, rates, and the headers of every answer."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transduce.errors import ConfigError
from transduce.serving.batcher import reported
from transduce.serving.refusal import Refusal
from transduce.serving.service import Service

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Of every answer. Nothing is loaded from elsewhere, no page may frame this one, and no address of it is passed on."""


class Guard:
    """Middleware around the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service, self._config = app, service, service.config
        self._rate = parse_rate(self._config.rate)
        self._limiter = MovingWindowRateLimiter(MemoryStorage()) if self._rate else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        deadline = started + self._config.deadline
        scope.setdefault("state", {})["deadline"] = deadline
        body = _Body(receive, self._config.body, deadline)
        answer = _Answer(send)
        try:
            self._check(scope, Headers(scope=scope))
            body.check_declared(Headers(scope=scope))
            await self._app(scope, body.receive, answer.send)
        except ClientDisconnect:
            answer.status = 499
        except Exception as error:
            refusal = error if isinstance(error, Refusal) else reported(error)
            if not answer.status:
                await refusal.answer()(scope, receive, answer.send)
        finally:
            self._service.metrics.request(endpoint(scope), answer.status or 499, time.monotonic() - started)

    def _check(self, scope: Scope, headers: Headers) -> None:
        hosts, host = self._config.hosts, headers.get("host", "")
        if hosts is not None and _name(host) not in hosts:
            # A page of another site can have its name lead here, but not change what the browser calls us.
            raise Refusal(403, "this server is not called by this name: see --allow-host")
        if scope["method"] != "POST":
            return
        origin = headers.get("origin")
        if hosts is not None and origin is not None and not self._is_ours(origin, host):
            raise Refusal(403, "pages of other sites may not use this server: see --allow-origin")
        client = scope.get("client") or ("", 0)
        if self._limiter is not None and self._rate is not None:
            caller = _network(client[0])
            if not self._limiter.hit(self._rate, caller):
                wait = self._limiter.get_window_stats(self._rate, caller).reset_time - time.time()
                raise Refusal(429, f"more than {self._rate} from one address", retry_after=max(1, math.ceil(wait)))

    def _is_ours(self, origin: str, host: str) -> bool:
        origins = self._config.origins
        return origin in origins or "*" in origins or urlsplit(origin).netloc == host


class _Answer:
    """Sends an answer with the headers of all answers, and remembers its status."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)


class _Body:
    """Receives a request within its limits of size and time; what comes after the body is passed on."""

    def __init__(self, receive: Receive, most: int, deadline: float) -> None:
        self._receive, self._most, self._deadline = receive, most, deadline
        self._size, self._whole = 0, False

    def check_declared(self, headers: Headers) -> None:
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared[:20]) > self._most:
            raise self._too_large()

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), self._deadline - time.monotonic())
        except TimeoutError:
            raise Refusal(408, "the request was not whole before the deadline") from None
        self._size += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._size > self._most:
            raise self._too_large()
        return message

    def _too_large(self) -> Refusal:
        return Refusal(413, f"the request is larger than the {self._most:,} bytes that this server takes")


def parse_rate(rate: str) -> RateLimitItem | None:
    """Raises ConfigError for what is no rate."""
    try:
        return parse(rate) if rate else None
    except ValueError:
        raise ConfigError(f"--rate {rate}: expected a number and a time, such as 60/minute or 1000/day") from None


def endpoint(scope: Scope) -> str:
    """The route that a request went to, as the documents write it, never its own path: any number of those come."""
    path: str = getattr(scope.get("route"), "path", "")
    return path if path and "{" not in path else "files"


def _name(host: str) -> str:
    """A host without its port."""
    name, bracket, _ = host.partition("]")
    return (name + bracket if bracket else host.rpartition(":")[0] or host).lower()


def _network(address: str) -> str:
    """Whom to count as one: an address or, of IPv6, a network such as a household has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(found if found.version == 4 else ipaddress.ip_network((found, 64), strict=False))


def loopback_names(names: Iterable[str] = ()) -> tuple[str, ...]:
    """What a server that only this machine reaches may be called."""
    return ("localhost", "127.0.0.1", "[::1]", *(name.lower() for name in names))
