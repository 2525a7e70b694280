"""`python -m bench preparation`: time and memory of preparing a corpus, which `python -m bench corpus` makes large.

That is learning the vocabulary, filtering and encoding, as a training that starts does it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from bench.report import Report, Row
from bench.workers import PASSIVE, group_megabytes


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", type=Path, help="experiment file, such as OUT/large.toml of `corpus`")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of it")


def measure(given: argparse.Namespace, folder: Path, report: Report) -> None:
    command = [sys.executable, "-m", "transduce", "prepare", str(given.experiment.resolve()), "--cache", str(folder)]
    command += [word for setting in given.set for word in ("--set", setting)]
    begun, most = time.perf_counter(), 0.0
    with (folder / "output").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **PASSIVE}, start_new_session=True
        )
        while process.poll() is None:
            most = max(most, group_megabytes(process.pid))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
        output.seek(0)
        said = output.read()
    if process.returncode:
        told = [line for line in said.splitlines() if line.startswith("transduce: ")] or said.splitlines()[-1:]
        raise SystemExit(f"bench: transduce prepare failed: {' '.join(told)}")
    seconds = time.perf_counter() - begun
    pairs = int((re.findall(r"read ([\d,]+)", said) or ["1"])[-1].replace(",", ""))
    stored = sum(file.stat().st_size for file in folder.rglob("*.bin")) / 2**20
    extra = {"seconds": f"{seconds:,.1f}", "memory MB": f"{most:,.0f}", "encoded text MB": f"{stored:,.1f}"}
    report.table(f"Preparation of {pairs:,} pairs", "pairs/s", [Row("transduce prepare", [pairs / seconds], extra)])
