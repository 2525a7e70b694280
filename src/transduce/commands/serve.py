"""`transduce serve`: runs behind HTTP."""

from __future__ import annotations

import logging
import os
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from transduce.acceleration.allocator import keep_freed_memory
from transduce.commands.loading import load_translator
from transduce.commands.telling import legible
from transduce.config import explain
from transduce.demo.shipped import RUN
from transduce.devices import usable_cores
from transduce.errors import ConfigError
from transduce.text.lines import read_lines

if TYPE_CHECKING:
    from transduce.serving.service import Served

KEY = "TRANSDUCE_API_KEY"
"""The environment's variable for a key."""

SHORTEST_KEY = 16
"""Characters below which a key can be guessed."""


def run_serve(
    runs: Sequence[Path],
    *,
    host: str,
    port: int,
    limits: dict[str, Any],
    key_file: Path | None,
    hosts: Sequence[str],
    proxies: Sequence[str],
    page: str,
    open_browser: bool,
    weights: str,
    device: str,
    threads: int,
    quantize: str,
) -> None:
    """`page` is the place that people are sent to, such as "/"."""
    try:
        from transduce.serving import app, guard, server, service
        from transduce.serving.config import ServingConfig
    except ModuleNotFoundError as error:
        raise ConfigError(
            f'serving needs packages of its own, and {error.name} is missing: pip install "transduce[serve]"'
        ) from None
    keys = read_keys(key_file)
    guard.parse_rate(limits.get("rate", ""))
    with server.listen(host, port) as listening:
        local = server.is_loopback(listening)
        if not local and not keys:
            raise ConfigError(
                f"--host {host}: others can reach this server, so it needs an API key: put one into a file and name it "
                f"with --api-key-file, or set {KEY}"
            )
        names = guard.loopback_names(hosts) if local else tuple(hosts) or None
        try:
            config = ServingConfig(**limits, keys=keys, hosts=names)
        except ValidationError as error:
            raise explain(error, ServingConfig, "serve") from None
        keep_freed_memory()
        served = _load(runs, weights, device, threads, quantize, service.Served)
        logging.basicConfig(format="transduce: %(message)s", level=logging.WARNING)
        opened = service.Service(served, config)
        address = server.address_of(listening)

        def started() -> None:
            print(f"transduce: {address}{page} serves", flush=True)
            for run in served:
                print(legible(f"  {run.name}: {run.does}"), flush=True)
            if open_browser:
                Thread(target=webbrowser.open, args=(address + page,), daemon=True).start()

        server.serve(app.application(opened), opened, listening, proxies=proxies, started=started)


def _load(
    runs: Sequence[Path], weights: str, device: str, threads: int, quantize: str, served: type[Served]
) -> list[Served]:
    """Each run by itself, under the name of its folder; the threads are their share of the cores."""
    share = threads or max(1, usable_cores() // max(1, len(runs)))
    found: dict[str, Served] = {}
    for path in runs or (RUN,):
        translator = load_translator([path] if runs else [], weights, device, share, quantize, announce=True)
        name = plain = path.resolve().name if runs else "demo"
        number = 1
        while name in found:
            number += 1
            name = f"{plain}-{number}"
        found[name] = served.of(name, translator, path)
    return list(found.values())


def read_keys(file: Path | None) -> tuple[str, ...]:
    """The keys of a file, a line each, and of the environment. Raises ConfigError for one that could be guessed."""
    keys = [(KEY, os.environ[KEY])] if os.environ.get(KEY) else []
    if file is not None:
        lines = enumerate(read_lines(file), start=1)
        keys += [(f"{file}, line {number}", line.strip()) for number, line in lines if line.strip()]
        if not keys:
            raise ConfigError(f"--api-key-file {file}: there is no key in it; write one on a line of its own")
    for where, key in keys:
        if len(key) < SHORTEST_KEY:
            raise ConfigError(
                f"{where}: a key of {len(key)} characters, expected at least {SHORTEST_KEY}; "
                "`openssl rand -hex 24` prints one"
            )
    return tuple(key for _, key in keys)
