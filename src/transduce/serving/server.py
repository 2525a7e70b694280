"""Listening, and stopping: what was begun is finished, then the program ends well."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from transduce.errors import ConfigError
from transduce.serving.service import Service

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises ConfigError for an address that is none of this machine, or in use."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        # A name would have to be asked for elsewhere.
        raise ConfigError(f"--host {host}: expected an address, such as 127.0.0.1 or 0.0.0.0") from None
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((str(address), port))
        found.listen(2048)
    except OverflowError:
        found.close()
        raise ConfigError(f"--port {port}: expected 0 (any that is free) to 65535") from None
    except OSError as error:
        found.close()
        raise ConfigError(
            f"--host {host} --port {port}: cannot listen there ({error.strerror}); choose another --port, "
            "or 0 for any that is free"
        ) from None
    return found


def is_loopback(listening: socket.socket) -> bool:
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback


def address_of(listening: socket.socket) -> str:
    """Where a browser on this machine finds the server."""
    address, port = listening.getsockname()[:2]
    found = ipaddress.ip_address(address)
    if found.is_unspecified:
        found = ipaddress.ip_address("127.0.0.1" if found.version == 4 else "::1")
    return f"http://{f'[{found}]' if found.version == 6 else found}:{port}"


def serve(
    app: ASGIApp,
    service: Service,
    listening: socket.socket,
    *,
    proxies: Sequence[str] = (),
    started: Callable[[], None] | None = None,
) -> None:
    """Answer requests until SIGINT or SIGTERM; then take no more and finish what was begun. A second one ends at once.

    `proxies` are addresses whose word on where a request comes from is believed (X-Forwarded-For).
    """
    _Server(settings(app, service, proxies), service, started).run(sockets=[listening])


def settings(app: ASGIApp, service: Service, proxies: Sequence[str] = ()) -> uvicorn.Config:
    """Uvicorn's settings. Its log of requests has what clients typed into addresses, and it would believe any
    X-Forwarded-For that comes from this machine: neither is wanted."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=int(service.config.deadline) + 5,
        lifespan="on",
        ws="none",
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, started: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._service, self._when_started = service, started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._when_started is not None:
            self._when_started()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Uvicorn's own raises the signal again at the end, and the program would end as if killed.
        before = {number: signal.signal(number, self.handle_exit) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(128 + sig)
        self._service.stopping = True
        self.should_exit = True
