"""Servers for tests: in this process without a socket, on loopback with one, or as a process of their own."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from starlette.testclient import TestClient

from tests.support.command import environment
from transduce.serving.app import application
from transduce.serving.config import ServingConfig
from transduce.serving.server import address_of, listen, settings
from transduce.serving.service import Served, Service
from transduce.translator import Translator


def served(translator: Translator, name: str = "copy", source: str = "en", target: str = "de") -> Served:
    return Served(name, translator, source, target)


@contextmanager
def asking(*runs: Served, **limits: Any) -> Iterator[TestClient]:
    """A client of a server with these runs and `ServingConfig`; the service is `client.app.state.service`."""
    with TestClient(application(Service(runs, ServingConfig(**limits))), raise_server_exceptions=False) as client:
        yield client


@contextmanager
def listening(*runs: Served, proxies: tuple[str, ...] = (), **limits: Any) -> Iterator[tuple[httpx.Client, Service]]:
    """The same over a socket, for clients that go away."""
    service = Service(runs, ServingConfig(**limits))
    server = uvicorn.Server(settings(application(service), service, proxies))
    with listen("127.0.0.1", 0) as socket:
        thread = threading.Thread(target=server.run, args=([socket],), daemon=True)
        thread.start()
        try:
            until(lambda: server.started)
            with httpx.Client(base_url=address_of(socket), timeout=60) as client:
                yield client, service
        finally:
            server.should_exit = True
            thread.join(60)


def until(true: Any, timeout: float = 20.0) -> None:
    """Wait for something to become so."""
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


ALONE = """
import os, sys

def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        os._exit(99)

sys.addaudithook(watch)
from transduce.cli import main
main()
"""


@dataclass
class Server:
    """A running `transduce serve`. It ends with code 99 if it reaches for any network."""

    process: subprocess.Popen[str]
    address: str
    told: list[str]

    def ask(self, texts: Any, **options: Any) -> Any:
        body = {"q": texts, "source": "auto", "target": "en"}
        answer = httpx.post(f"{self.address}/translate", json=body, timeout=60, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()["translatedText"]

    def end(self, *signals: int) -> int:
        for number in signals:
            self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def command(*arguments: object, **changes: str) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", ALONE, "serve", "--port", "0", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=environment(**changes),
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stderr is not None
        first = process.stdout.readline()
        assert first, process.stderr.read()
        found = re.fullmatch(r"transduce: (http://\S+:\d+)/ serves\n", first)
        assert found, first
        yield Server(process, found[1], [process.stdout.readline()])
    finally:
        process.kill()
        process.communicate()
