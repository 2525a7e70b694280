"""`python -m bench training`: target tokens a second and memory, everyone on the same passes, in turns."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import material
from bench.material import SIZES, Material
from bench.measurement import Measurement, interpreter, wanted
from bench.report import Report, Row
from bench.workers import AVX2, KEEPS, PASSIVE, ROOT, Worker, closing_all

PEERS = {
    "nn.Transformer": ("plain_torch", "torch"),
    "Hugging Face Marian": ("huggingface", "huggingface"),
    "fairseq": ("fairseq_", "fairseq"),
    "OpenNMT-py": ("opennmt", "opennmt"),
    "eole": ("eole_", "eole"),
    "Sockeye": ("sockeye_", "sockeye"),
    "Joey NMT": ("joey", "joeynmt"),
}
"""Name, the file in `peers` and the environment."""
OURS, PROCESSES = "ours", "ours, a process for each core"
MOST_UPDATES = 200


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=sorted(SIZES), default="small")
    parser.add_argument("--rounds", type=int, default=3, help="turns that each takes")
    parser.add_argument("--seconds", type=float, default=10, help="length of a turn of ours; all make the same updates")
    parser.add_argument("--batch-tokens", type=int, default=2048, help="padded tokens of a pass, on either side")
    parser.add_argument("--passes", type=int, default=2, help="passes that make an update")
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--only", nargs="*", help="contenders by the beginning of their names (ours is always there)")
    parser.add_argument("--same-allocator", action="store_true", help="glibc keeps freed memory for the peers, too")


def shared_job(given: argparse.Namespace, made: Material, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task": "training", "folder": str(made.folder), "sizes": dict(sizes), "vocabulary": made.vocabulary,
        "longest": material.LONGEST + 2, "label_smoothing": 0.1, "learning_rate": material.LEARNING_RATE,
        "warmup": material.WARMUP, "threads": given.threads, "device": given.device, "precision": given.precision,
    }  # fmt: skip


def start_ours(
    given: argparse.Namespace, name: str, job: Mapping[str, Any], experiment: Path, *, processes: int = 1,
    source: Path | None = None,
) -> Worker:  # fmt: skip
    """Ours in training, on one process or several; `source` is the `src` folder of another version of it."""
    threads = max(1, given.threads // processes)
    settings: dict[str, Any] = {
        "compute.device": given.device, "compute.precision": given.precision, "compute.threads": threads,
        "compute.processes": processes, "training.log_every": 10 if given.device == "cuda" else 50,
    }  # fmt: skip
    number = sum(1 for _ in (experiment.parent / "runs").glob("*"))
    ours = {
        **job, "experiment": str(experiment), "settings": settings, "processes": processes, "threads": threads,
        "run": str(experiment.parent / "runs" / f"run-{number}"),
    }  # fmt: skip
    environment = {**PASSIVE, **(AVX2 if given.avx2 else {})}
    return Worker.start(
        name, sys.executable, "ours_training", ours, environment=environment, source=source or ROOT / "src"
    )


def measure(given: argparse.Namespace, folder: Path, report: Report) -> None:
    sizes = SIZES[given.model]
    pairs, origin = material.pairs_of(given.data, given.pairs, given.vocabulary)
    experiment = material.write_experiment(folder, pairs, sizes, given.vocabulary, given.batch_tokens, given.passes)
    made = material.make(folder, experiment, origin, MOST_UPDATES)
    job = shared_job(given, made, sizes)
    found = Measurement()
    ceilings: list[dict[str, Any]] = []
    environment = {**(AVX2 if given.avx2 else {}), **(KEEPS if given.same_allocator else {})}
    with closing_all() as workers:
        found.begin(workers, OURS, lambda: start_ours(given, OURS, job, experiment))
        if not workers:
            raise SystemExit(f"bench: ours could not be measured: {found.absent[OURS]}")
        if given.before:
            name = "ours before"
            found.begin(workers, name, lambda: start_ours(given, name, job, experiment, source=given.before))
        if given.device == "cpu" and given.threads > 1 and given.passes > 1 and wanted(given, OURS):
            found.begin(
                workers, PROCESSES, lambda: start_ours(given, PROCESSES, job, experiment, processes=given.threads)
            )
        for name, (module, needs) in PEERS.items():
            if wanted(given, name):
                found.begin(workers, name, lambda name=name, module=module, needs=needs: Worker.start(
                    name, interpreter(given, needs), module, job, environment=environment))  # fmt: skip
        limit = Worker.start(
            "ceilings",
            sys.executable,
            "ceiling",
            {**job, "rows": given.batch_tokens},
            environment=environment,
            source=ROOT / "src",
        )
        try:
            updates = _updates_of_a_turn(given, workers[0])
            for worker in list(workers):
                found.turn(workers, worker, kept=False, updates=updates if given.device == "cuda" else 1)
            for number in range(given.rounds):
                if number > 0 and time.monotonic() > given.deadline:
                    break
                ceilings.append(limit.ask(seconds=min(2.0, given.seconds)))
                for worker in list(workers):
                    found.turn(workers, worker, updates=updates)
                print(f"bench: round {number + 1} of {given.rounds}", file=sys.stderr)
        finally:
            limit.close()
    _tell(given, found, ceilings, made, updates, report)


def _updates_of_a_turn(given: argparse.Namespace, ours: Worker) -> int:
    """As many as ours makes in the wanted seconds; on a GPU, ours reports every tenth."""
    step = 10 if given.device == "cuda" else 1
    ours.ask(updates=step)
    seconds = ours.ask(updates=step)["seconds"] / step
    return max(step, step * round(given.seconds / seconds / step))


def _tell(
    given: argparse.Namespace, found: Measurement, ceilings: list[dict[str, Any]], made: Material, updates: int,
    report: Report,
) -> None:  # fmt: skip
    work = material.flops(SIZES[given.model], made.vocabulary, made.source_per_target)
    rows = []
    for name, replies in found.rounds.items():
        rates = [reply["tokens"] / reply["seconds"] for reply in replies]
        limits = [1e9 * c["gflops"] / work for c in ceilings]
        share = sorted(rate / limit for rate, limit in zip(rates, limits, strict=True))[len(rates) // 2]
        extra = {
            "of the ceiling": f"{share:.0%}",
            "memory MB": f"{found.most[name]:,.0f}",
            "loss": f"{replies[-1]['loss']:.2f}",
            "parameters": f"{found.told[name]['parameters']:,}",
        }
        if "device_megabytes" in replies[-1]:
            extra["GPU memory MB"] = f"{max(r['device_megabytes'] for r in replies):,.0f}"
        rows.append(Row(name, rates, extra))
    report.table(
        f"Training, {given.model}", "target tokens/s", rows,
        note=f"{made.origin}. Vocabulary {made.vocabulary:,}; an update is {given.passes} passes of up to "
        f"{given.batch_tokens:,} padded tokens; a turn is {updates} updates. {work / 1e6:.1f} MFLOP for each target "
        "token, forward and backward. The loss is that of each tool's own formula, in the last update.",
    )  # fmt: skip
    report.ceilings(f"{given.batch_tokens:,} rows, {given.threads} threads", ceilings)
    report.absent(found.absent)
    report.versions(found.told)
