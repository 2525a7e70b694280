"""`python -m bench score`: BLEU against wall time from raw text, ours and Joey NMT, each through its own loop.

The two run by themselves in slices, one stopped while the other goes on; what counts is the time that each was let run,
learning its subwords and translating for validation included. Both validate greedily on the same held-out text, and
both have sacreBLEU count. Pairs a second come from the same run.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench.environments import HERE, AbsentError
from bench.material import SIZES
from bench.measurement import interpreter
from bench.report import Report, Row
from bench.workers import AVX2, PASSIVE, ROOT, EndedError, Reader, Worker, closing_all
from transduce.errors import RunError

OURS, JOEY = "ours", "Joey NMT"
RAW = HERE.parent.parent / "shared" / "data" / "multi30k"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=sorted(SIZES), default="tiny")
    parser.add_argument("--minutes", type=float, default=30, help="of each; ours may have ended before")
    parser.add_argument("--slice", type=float, default=20, help="seconds that one runs before the other has its turn")
    parser.add_argument(
        "--raw", type=Path, default=RAW, help="folder with train.XX.gz and val.XX.gz, one sentence a line"
    )
    parser.add_argument("--languages", nargs=2, default=["en", "de"])
    parser.add_argument("--updates", type=int, default=3500, help="of ours, over which its rate falls to zero")
    parser.add_argument("--validate-every", type=int, default=250, help="updates between validations, for both")
    parser.add_argument("--batch-tokens", type=int, default=1024, help="padded tokens of a pass, for both")
    parser.add_argument("--passes", type=int, default=4, help="passes of an update, for both")
    parser.add_argument("--vocabulary", type=int, default=6000, help="subwords, for both")
    parser.add_argument("--learning-rate", type=float, default=4e-3, help="peak, for both")
    parser.add_argument("--dropout", type=float, default=0.2, help="for both")
    parser.add_argument("--norm", choices=("pre", "post"), default="pre", help="before each sub-layer or after the "
                        "addition, for both; before it, so short a run learns much more")  # fmt: skip
    parser.set_defaults(pairs=None)


def measure(given: argparse.Namespace, folder: Path, report: Report) -> None:
    source, target = given.languages
    count = _unpack(given, folder)
    sizes = {**SIZES[given.model], "dropout": given.dropout, "norm": given.norm}
    recipe = {
        "learning_rate": given.learning_rate, "warmup": max(1, given.updates // 7), "batch_tokens": given.batch_tokens,
        "passes": given.passes, "vocabulary": given.vocabulary, "clip_norm": 25.0,
        "validate_every": given.validate_every,
    }  # fmt: skip
    job = {
        "task": "course", "folder": str(folder), "threads": given.threads, "device": given.device, "sizes": sizes,
        "recipe": recipe, "languages": [source, target],
    }  # fmt: skip
    experiment = _experiment(folder, given, sizes, recipe)
    avx2 = AVX2 if given.avx2 else {}
    processes = min(given.threads, given.passes) if given.device == "cpu" else 1
    ours = {
        **job, "experiment": str(experiment), "run": str(folder / "runs" / "ours"), "processes": processes,
        "settings": {"compute.processes": processes, "compute.device": given.device,
                     "compute.threads": max(1, given.threads // processes)},
    }  # fmt: skip
    courses: dict[str, Course] = {}
    with closing_all() as workers:
        starts: dict[str, Any] = {
            OURS: lambda: Worker.start(OURS, sys.executable, "ours_training", ours, environment={**PASSIVE, **avx2},
                                       source=ROOT / "src"),
            JOEY: lambda: Worker.start(JOEY, interpreter(given, "joeynmt"), "joey", {**job, "run": str(folder)},
                                       environment=avx2),
        }  # fmt: skip
        for name, start in starts.items():
            try:
                workers.append(start())
                courses[name] = Course(workers[-1])
            except (AbsentError, EndedError) as error:
                report.absent({name: str(error)})
        while any(course.seconds < 60 * given.minutes and not course.over for course in courses.values()):
            for course in courses.values():
                if course.seconds < 60 * given.minutes and not course.over:
                    course.go_on(given.slice)
            print("bench: " + "; ".join(map(str, courses.values())), file=sys.stderr)
    _tell(given, folder, courses, count, report)


class Course:
    """A contender that trains by itself while it is let, and what it said by its own active time."""

    def __init__(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        self.worker, self.clock = worker, time.monotonic
        self.seconds = 0.0
        self.slices: list[tuple[float, float]] = []
        """When each slice began by the clock, and the active seconds until then."""
        self.reader = Reader(worker.process.stdout)
        self.reader.start()

    @property
    def over(self) -> bool:
        return self.worker.process.poll() is not None

    def go_on(self, seconds: float) -> None:
        begun = self.clock()
        self.slices.append((begun, self.seconds))
        self.worker.run(seconds)
        self.seconds += self.clock() - begun

    def active(self, at: float) -> float:
        """The active seconds at a time by the clock."""
        begun, before = max((part for part in self.slices if part[0] <= at), default=self.slices[0])
        return max(0.0, at - begun) + before

    @property
    def scores(self) -> list[tuple[float, float]]:
        """(active minutes, BLEU) of each validation."""
        return [
            (self.active(line["at"]) / 60, line["bleu"]) for line in self.reader.lines if line.get("bleu") is not None
        ]

    def pairs(self, tokens_per_pair: float) -> list[tuple[float, float]]:
        """(active seconds, pairs learned from) after every tenth update; ours counts target tokens."""
        return [
            (self.active(line["at"]), line["pairs"] if "pairs" in line else line["tokens"] / tokens_per_pair)
            for line in self.reader.lines
            if "update" in line and "bleu" not in line
        ]

    def __str__(self) -> str:
        best = max((bleu for _, bleu in self.scores), default=0.0)
        return f"{self.worker.name}: {self.seconds / 60:.1f} minutes, best BLEU {best:.2f}"


def _unpack(given: argparse.Namespace, folder: Path) -> int:
    """The raw text as plain files, and how many pairs it has for training."""
    count = 0
    for language in given.languages:
        for part, name in (("train", "train"), ("val", "valid")):
            file = given.raw / f"{part}.{language}.gz"
            if not file.is_file():
                raise SystemExit(f"bench: {file} is missing: give --raw a folder with train.XX.gz and val.XX.gz")
            lines = gzip.decompress(file.read_bytes())
            (folder / f"{name}.{language}").write_bytes(lines)
            if part == "val":
                (folder / f"test.{language}").write_bytes(lines)
            else:
                count = lines.count(b"\n")
    return count


def _experiment(folder: Path, given: argparse.Namespace, sizes: dict[str, Any], recipe: dict[str, Any]) -> Path:
    import tomli_w

    source, target = given.languages
    table = {
        "name": "bench", "preset": "base", "source_language": source, "target_language": target,
        "data": {
            "train": [{"source": f"train.{source}", "target": f"train.{target}"}],
            "valid": {"source": f"valid.{source}", "target": f"valid.{target}"},
        },
        "tokenizer": {"vocabulary": recipe["vocabulary"], "if_too_large": "shrink"},
        "model": sizes,
        "training": {
            "batch_tokens": recipe["batch_tokens"], "update_tokens": recipe["batch_tokens"] * recipe["passes"],
            "learning_rate": recipe["learning_rate"], "warmup": recipe["warmup"], "decay": "linear",
            "max_updates": given.updates, "clip_norm": recipe["clip_norm"], "validate_every": given.validate_every,
            "save_every": max(1, min(100, given.validate_every)), "average": 5,
        },
        "validation": {"sentences": 10_000},
    }  # fmt: skip
    path = folder / "experiment.toml"
    path.write_text(tomli_w.dumps(table), encoding="utf-8")
    return path


def _tell(given: argparse.Namespace, folder: Path, courses: dict[str, Course], count: int, report: Report) -> None:
    rows = []
    final = max((bleu for _, bleu in courses[JOEY].scores), default=None) if JOEY in courses else None
    tokens_per_pair = _tokens_per_pair(given, folder)
    for name, course in courses.items():
        pairs = course.pairs(tokens_per_pair)
        if len(pairs) < 2 or not course.scores:
            report.absent({name: f"nothing was validated in {course.seconds / 60:.1f} minutes; its log ends: "
                           f"{course.worker.last_words()}"})  # fmt: skip
            continue
        best = max(bleu for _, bleu in course.scores)
        reached = next((at for at, bleu in course.scores if final is not None and bleu >= final), None)
        extra = {
            "best BLEU": f"{best:.2f}",
            "after minutes": f"{next(at for at, bleu in course.scores if bleu == best):.1f}",
            "minutes to Joey NMT's best": f"{reached:.1f}" if reached is not None else "not reached",
            "10 updates after s": f"{pairs[0][0]:.0f}",
            "memory MB": f"{course.worker.most:,.0f}",
        }
        rows.append(Row(name, _rates(pairs), extra))
    if rows:
        report.table(
            f"Time to score, {given.model}, raw text of {count:,} pairs", "pairs/s in the own loop", rows,
            note="BLEU on the validation text, greedy, by each tool itself with sacreBLEU's 13a. An update of either "
            f"has {given.passes} passes of up to {given.batch_tokens:,} padded tokens; Joey NMT's sampler does not put "
            "like lengths together, so its passes hold fewer real ones.",
        )  # fmt: skip
    report.curve("BLEU against time", "minutes", "BLEU", {n: c.scores for n, c in courses.items() if c.scores})
    report.versions({name: course.worker.told for name, course in courses.items()})


def _rates(pairs: list[tuple[float, float]]) -> list[float]:
    """Pairs a second in the first, second and last third: medians, which a validation between updates hardly moves."""
    gaps = [(q - p) / (t - s) for (s, p), (t, q) in itertools.pairwise(pairs) if t > s]
    third = max(1, len(gaps) // 3)
    return [statistics.median(gaps[at : at + third]) for at in (0, (len(gaps) - third) // 2, len(gaps) - third)]


def _tokens_per_pair(given: argparse.Namespace, folder: Path) -> float:
    """Target tokens of a pair in our subwords, the end mark included."""
    from transduce.run_folder import RunFolder

    lines = (folder / f"train.{given.languages[1]}").read_text(encoding="utf-8").split("\n")[:5000]
    try:
        target = RunFolder.open(folder / "runs" / "ours").tokenizers.target
    except RunError:
        return 1.0
    return sum(len(ids) + 1 for ids in target.encode_batch(lines)) / len(lines)
