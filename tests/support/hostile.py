"""Mutants of a run's files, tried in child processes: refused in words or loaded, and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.command import environment
from tests.support.copy_run import load, tiny_experiment
from tests.support.fresh_run import MODELS, TOKENIZERS, fresh_run
from tests.support.mutants import mutant
from transduce.errors import DataError, TransduceError
from transduce.experiment import Experiment
from transduce.recipe import prepare_data, results, resume, train
from transduce.run_folder import RunFolder
from transduce.training.curve import draw_curve

HANG = 20.0
"""Seconds of computing after which a mutant is taken for one that hangs: its process is ended by a signal."""
SILENCE = 600.0
"""Seconds without a word from a child, whatever else the machine is doing, after which it is killed."""
MOST_FAULTS = 20
"""Faults after which the rest is left alone."""
ROOM = 2 * 2**30
"""Bytes of memory that a child may map beyond what it has mapped when it starts; the models take a few MB."""
WITHOUT_A_FILE = ("decoding: ", "text 1 has ", "validation.probes: ", "the model gave logits that are not numbers")
"""How messages begin that come when a whole run meets a text: weights near the largest number there is, for one."""
_FORBIDDEN = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect")


class Unpickled(BaseException):
    """Something was unpickled, or a process or a connection was made: nothing may catch this."""


@dataclass(frozen=True)
class Target:
    """A file of a run folder, what its mutants are, and what is done with the run that has one of them."""

    run: str
    """Which of `make_runs`'s."""
    file: str
    """Below the folder that holds the run."""
    form: str
    action: str

    @property
    def name(self) -> str:
        return f"{self.action}:{self.run}/{self.file}"


STEP = "run/checkpoints/step-4"
TARGETS = (
    *(Target(name, "run/tokenizer.json", "json", "translate") for name in TOKENIZERS),
    *(Target(name, "run/experiment.toml", "toml", "translate") for name in ("word", *MODELS)),
    *(Target(name, "run/average/weights.safetensors", "safetensors", "translate") for name in ("word", *MODELS)),
    Target("word", "run/average/manifest.json", "json", "translate"),
    Target("trained", "run/results.json", "json", "translate"),
    Target("trained", "run/average/state.json", "json", "resume"),
    Target("trained", "run/experiment.toml", "toml", "resume"),
    Target("trained", "run/data.json", "json", "resume"),
    Target("trained", "run/journal.jsonl", "jsonl", "resume"),
    Target("trained", f"{STEP}/manifest.json", "json", "resume"),
    Target("trained", f"{STEP}/state.json", "json", "resume"),
    Target("trained", f"{STEP}/weights.safetensors", "safetensors", "resume"),
    Target("trained", f"{STEP}/optimizer.safetensors", "safetensors", "resume"),
    *(
        Target("trained", f".cache/store/{name}", form, "prepare")
        for form, names in {
            "json": ("header.json", "report.json"),
            "bytes": ("source.ids.bin", "source.offsets.bin", "lines.bin", "corpora.bin", "files.txt"),
        }.items()
        for name in names
    ),
)


def make_runs(folder: Path) -> Path:
    """A run per tokenizer and model with weights as they start, and one that was really trained, for 4 updates."""
    for name in (*TOKENIZERS, *MODELS):
        fresh_run(folder / name, name)
    settings = tiny_experiment(folder / "trained", max_updates=4, save_every=2, validate_every=2).model_dump()
    settings["validation"]["probes"] = [{"source": "red blue", "prefix": "red", "words": [" blue", " cat"]}]
    train(Experiment.model_validate(settings), folder / "trained/run")
    return folder


def try_mutants(runs: Path, work: Path, cases: Sequence[tuple[Target, int]]) -> list[str]:
    """Try mutants, each a target and its seed, in child processes; returns what was wrong, by name.

    A child takes one after another; where it crashes or hangs, the next child takes the rest.
    """
    faults: list[str] = []
    done = 0
    while done < len(cases) and len(faults) < MOST_FAULTS:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        (work / "cases").write_text(json.dumps([(target.name, number) for target, number in cases[done:]]))
        with (work / "stderr").open("wb") as stderr:
            child = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tests.support.hostile", str(runs), str(work)],
                stdout=subprocess.PIPE, stderr=stderr, cwd=Path(__file__).parents[2],
                env=environment(TOKENIZERS_PARALLELISM="false", MPLBACKEND="agg"),
            )  # fmt: skip
        for found in _listen(child):
            target, number = cases[done]
            faults += [f"{target.name} {number}: {fault}" for fault in found]
            done += 1
        if child.wait():
            target, number = cases[done]
            last = (work / "stderr").read_text(encoding="utf-8", errors="replace")[-2000:]
            faults.append(f"{target.name} {number}: its process ended with {child.returncode}\n{last}")
            done += 1
    return faults


def _listen(child: subprocess.Popen[bytes]) -> Iterator[list[str]]:
    """What a child says of each case, until it ends or falls silent, in which case it is killed."""
    assert child.stdout is not None
    with child.stdout as stream:
        rest = b""
        while select.select([stream], [], [], SILENCE)[0]:
            block = os.read(stream.fileno(), 2**16)
            if not block:
                return
            *lines, rest = (rest + block).split(b"\n")
            yield from map(json.loads, lines)
        child.kill()


def _guard() -> None:
    """No pickle, no other process, no connection, no endless memory."""

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise Unpickled(f"{arguments} {options}")

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FORBIDDEN:
            raise Unpickled(f"{event} {arguments}")

    import torch

    pickle.load = pickle.loads = pickle.Unpickler = torch.load = refuse  # type: ignore[misc,assignment]
    sys.addaudithook(hear)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ROOM, mapped + ROOM))


def _translate(work: Path, runs: Path) -> None:
    (found,) = load(work / "run").translate(["red blue 我 x"], beam=2, nbest=1, max_extra=5)
    found.text.encode("utf-8")


def _resume(work: Path, runs: Path) -> None:
    resume(work / "run", ["training.max_updates=5"])
    _translate(work, runs)


def _prepare(work: Path, runs: Path) -> None:
    """The cache answers, anew if need be, with examples that training can use."""
    import numpy as np

    from transduce.tasks.translate import Translate

    run = RunFolder.open(runs / "trained/run")
    found = prepare_data(run.experiment, run.tokenizers, work / ".cache")
    found.report.render()
    json.dumps(found.report.to_json(), allow_nan=False)
    assert len(found.store) == found.report.kept == 211
    assert all(found.store.corpus(i) == 0 for i in range(211))
    batch = Translate().collate(found.store, np.arange(211))
    assert int(batch["source"].ids.max()) < run.tokenizers.source.size


_ACTIONS: dict[str, Callable[[Path, Path], None]] = {"translate": _translate, "resume": _resume, "prepare": _prepare}


class _Workplace:
    """The run that a mutant is put into, as good as new each time."""

    def __init__(self, runs: Path, work: Path, target: Target) -> None:
        self.source, self.work, self.target, self.runs = runs / target.run, work, target, runs
        self.path = self._resolved(work)
        self.content = self._resolved(self.source).read_bytes()
        self.others = tuple(
            path.read_bytes() for path in sorted(self.source.rglob("*")) if path.is_file() and path.suffix != ".png"
        )

    def _resolved(self, base: Path) -> Path:
        store = next((p.name for p in (self.source / ".cache").glob("*")), "")
        return base / self.target.file.replace("/store/", f"/{store}/")

    def warm_up(self) -> None:
        """As nothing is wrong yet it has to work; and what is imported on the way is then in memory."""
        self._renew()
        _ACTIONS[self.target.action](self.work, self.runs)

    def _renew(self) -> None:
        for name in ("run", ".cache"):
            shutil.rmtree(self.work / name, ignore_errors=True)
            if (self.source / name).exists():
                shutil.copytree(self.source / name, self.work / name)

    def attempt(self, number: int) -> list[str]:
        """What was wrong with what became of a mutant."""
        self._renew()
        # Most of a resumed run's time goes into its picture, which shows nothing but the journal.
        results.draw_curve = draw_curve if self.path.name == "journal.jsonl" else lambda *_: None
        content = mutant(self.content, self.target.form, f"{self.target.name} {number}", self.others)
        self.path.write_bytes(content)
        # Of five mutants, four have a manifest that fits them: they reach the parser behind the checksum.
        manifest = self.path.with_name("manifest.json")
        if number % 5 and manifest.is_file() and manifest != self.path:
            listed = json.loads(manifest.read_bytes())
            listed["files"][self.path.name] = hashlib.sha256(content).hexdigest()
            manifest.write_text(json.dumps(listed))
        started = time.process_time()
        faults = []
        try:
            _ACTIONS[self.target.action](self.work, self.runs)
        except TransduceError as error:
            message = str(error)
            if time.process_time() - started > 1.0:
                faults.append(f"refused after {time.process_time() - started:.1f} s of computing: {message}")
            if not (isinstance(error, DataError) or str(self.work) in message or message.startswith(WITHOUT_A_FILE)):
                faults.append(f"the message names no file: {message}")
            if len(message) > 2000:
                faults.append(f"a message of {len(message)} characters: {message[:300]}")
        except BaseException:
            faults.append(traceback.format_exc()[-3000:])
        return faults


def main() -> None:
    runs, work = map(Path, sys.argv[1:])
    targets = {target.name: target for target in TARGETS}
    cases: list[tuple[str, int]] = json.loads((work / "cases").read_text())
    workplaces = {name: _Workplace(runs, work, targets[name]) for name in dict(cases)}
    for name in dict(cases):
        workplaces[name].warm_up()
    _guard()
    for name, number in cases:
        signal.setitimer(signal.ITIMER_PROF, HANG)  # nothing listens: the signal ends the process
        print(json.dumps(workplaces[name].attempt(number)), flush=True)


if __name__ == "__main__":
    main()
