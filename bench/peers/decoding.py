"""What contenders in translation share: reading what is given, and serving turns."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.protocol import Json, Link, fastest, megabytes

TRIED = {"bulk": 256, "single": 12}
"""Sentences on which an engine's settings are tried."""

Some = Callable[[list[Any], int, Json], list[Any]]
"""Translates sentences with a beam and a setting of the engine; output i belongs to input i."""


def given(job: Json) -> tuple[Json, Any, list[list[int]]]:
    """The model's sizes, its weights by our names, and the sentences as ids without end mark."""
    folder = Path(job["folder"])
    content = json.loads((folder / "given.json").read_text(encoding="utf-8"))
    return content["config"], np.load(folder / "weights.npz"), content["sources"][: job["sentences"]]


def ask_in_turn(
    job: Json,
    link: Link,
    sentences: list[Any],
    some: Some,
    several: list[Json],
    one: list[Json],
    version: str,
    torch: str = "",
) -> None:
    """Choose the engine's fastest setting unless the job has it, then serve turns: translate everything once.

    In the mode `bulk` the sentences come together, in `single` each comes alone and has its own time.
    """
    single = job["mode"] == "single"
    clock = time.process_time if job.get("processor_time") else time.perf_counter

    def attempt(setting: Json, share: float) -> None:
        sample = sentences[: max(1, round(share * TRIED[job["mode"]]))]
        for rows in [[sentence] for sentence in sample] if single else [sample]:
            some(rows, job["beam"], setting)

    setting = job.get("setting") or fastest(one if single else several, attempt)
    link.write(ready=True, version=version, torch=torch, setting=setting)
    for _ in link.requests():
        each, outputs = [], []
        for rows in [[sentence] for sentence in sentences] if single else [sentences]:
            begun = clock()
            outputs += some(rows, job["beam"], setting)
            each.append(clock() - begun)
        link.write(
            seconds=sum(each), each=each if single else [], outputs=outputs, megabytes=megabytes(),
            tokens=job.get("tokens"),
        )  # fmt: skip
