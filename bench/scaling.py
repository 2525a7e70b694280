"""`python -m bench scaling`: how ours goes with sentence length, batch, beam, vocabulary, threads and processes.

Training beside `nn.Transformer` where that can vary alike. Translation with weights as they start, which write exactly
as many tokens as they are told; beside it nothing, since other engines stop by themselves.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bench import material
from bench.material import SIZES
from bench.measurement import Measurement, interpreter
from bench.report import Report, Row
from bench.training import shared_job, start_ours
from bench.workers import AVX2, PASSIVE, ROOT, Worker, closing_all

AXES = ("length", "batch", "vocabulary", "threads", "processes", "beam")
TRAINING, TRANSLATION = "training", "translation"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=sorted(SIZES), default="small")
    parser.add_argument("--axes", nargs="*", choices=AXES, default=list(AXES))
    parser.add_argument("--rounds", type=int, default=3, help="turns that each point takes")
    parser.add_argument("--updates", type=int, default=2, help="updates of a turn in training")
    parser.add_argument("--sentences", type=int, default=32, help="sentences of a turn in translation")
    parser.add_argument("--lengths", type=int, nargs="*", default=[8, 16, 32, 64, 128])
    parser.add_argument("--batches", type=int, nargs="*", default=[512, 1024, 2048, 4096], help="tokens of a pass; "
                        "in translation, a 64th of it in sentences")  # fmt: skip
    parser.add_argument("--vocabularies", type=int, nargs="*", default=[4000, 8000, 16000, 32000])
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 2, 4, 8, 16])
    parser.add_argument("--only-training", action="store_true")


def measure(given: argparse.Namespace, folder: Path, report: Report) -> None:
    cores = sorted({1, *(2**i for i in range(10) if 2**i < given.threads), given.threads})
    values = {
        "length": given.lengths, "batch": given.batches, "vocabulary": given.vocabularies, "beam": given.beams,
        "threads": cores, "processes": cores,
    }  # fmt: skip
    number = itertools.count()
    for axis in given.axes:
        for work in (TRAINING, TRANSLATION)[: 1 if given.only_training else 2]:
            if work == TRAINING and axis == "beam":
                continue
            points = {value: Point(given, axis, value) for value in values[axis]}
            _measure(given, folder / f"axis-{next(number)}", axis, work, points, report)


class Point:
    """The settings of one point: all as usual but one."""

    def __init__(self, given: argparse.Namespace, axis: str, value: int) -> None:
        self.length, self.batch, self.vocabulary, self.beam = 16, 2048, 8000, 4
        self.threads, self.processes = given.threads, 1
        setattr(self, axis, value)
        self.passes = max(2, self.processes)


def _measure(
    given: argparse.Namespace, folder: Path, axis: str, work: str, points: Mapping[int, Point], report: Report
) -> None:
    """All points of an axis in turns."""
    found = Measurement()
    with closing_all() as workers:
        for value, point in points.items():
            start = _training if work == TRAINING else _translation
            for name, begin in start(given, folder / str(value), point).items():
                found.begin(workers, f"{name}, {axis} {value:,}", partial(begin, f"{name}, {axis} {value:,}"))
        for kept in [False] + [True] * given.rounds:
            for worker in list(workers):
                found.turn(workers, worker, kept=kept, **({"updates": given.updates} if work == TRAINING else {}))
    rows, curves = [], dict[str, list[tuple[float, float]]]()
    for label, replies in found.rounds.items():
        name, _, value = label.rpartition(f", {axis} ")
        rates = [reply["tokens"] / reply["seconds"] for reply in replies]
        rows.append(Row(label, rates, {"memory MB": f"{found.most[label]:,.0f}"}))
        curves.setdefault(name, []).append((float(value.replace(",", "")), sorted(rates)[len(rates) // 2]))
    if rows:
        report.table(f"{work.capitalize()} against {axis}, {given.model}", "target tokens/s", rows)
        report.curve(f"{work.capitalize()} against {axis}", axis, "target tokens/s", curves)
    report.absent(found.absent)
    report.versions(found.told)


def _material(given: argparse.Namespace, folder: Path, point: Point) -> tuple[Path, list[material.Pair]]:
    rows = point.batch // (point.length + 1) * point.passes
    # As many as the turns read, and as the vocabulary has words for; half of each source is new words.
    count = max(2 * rows, -(-2 * point.vocabulary // point.length) + 1)
    pairs = list(material.made_up(count, point.vocabulary, point.length))
    return material.write_experiment(
        folder, pairs, SIZES[given.model], point.vocabulary + 21, point.batch, point.passes
    ), pairs  # fmt: skip


def _training(given: argparse.Namespace, folder: Path, point: Point) -> dict[str, Any]:
    experiment, _ = _material(given, folder, point)
    made = material.make(folder, experiment, "made up", 4)
    job = {**shared_job(given, made, SIZES[given.model]), "threads": point.threads}
    mine = argparse.Namespace(**{**vars(given), "threads": point.threads})
    begin: dict[str, Any] = {
        "ours": lambda name: start_ours(mine, name, job, experiment, processes=point.processes),
    }
    if point.processes == 1:
        environment = AVX2 if given.avx2 else {}
        begin["nn.Transformer"] = lambda name: Worker.start(
            name, interpreter(given, "torch"), "plain_torch", job, environment=environment
        )
    return begin


def _translation(given: argparse.Namespace, folder: Path, point: Point) -> dict[str, Any]:
    """Weights as they start; each output is told to be as long as its source."""
    from transduce.recipe import build_model, learn_tokenizers, load_experiment
    from transduce.run_folder import RunFolder, write_snapshot

    experiment, pairs = _material(given, folder, point)
    loaded = load_experiment(experiment).experiment
    tokenizers = learn_tokenizers(loaded)
    run = RunFolder.create(folder / "run", loaded, tokenizers)
    model = build_model(loaded, tokenizers)
    write_snapshot(run.path / "average", {"weights": dict(model.named_parameters())}, {"update": 0})
    text = folder / "sentences"
    text.write_text("".join(f"{pairs[i % len(pairs)][0]}\n" for i in range(given.sentences)), encoding="utf-8")
    sentences = max(1, point.batch // 64)
    job = {
        "task": TRANSLATION, "folder": str(folder), "run": str(run.path), "text": str(text), "form": "float32",
        "mode": "bulk", "sentences": given.sentences, "beam": point.beam, "batches": [sentences], "max_extra": 0,
        "threads": point.threads, "device": given.device, "precision": given.precision,
        "options": {"min_length": point.length, "early_stop": False},
        "setting": {"workers": point.processes, "threads": max(1, point.threads // point.processes),
                    "batch": min(sentences, -(-given.sentences // point.processes))},
        "tokens": given.sentences * (point.length + 1),
    }  # fmt: skip
    environment = {**PASSIVE, **(AVX2 if given.avx2 else {})}
    return {
        "ours": lambda name: Worker.start(
            name, sys.executable, "ours_translation", job, environment=environment, source=ROOT / "src"
        )
    }
