"""Translation speed: ours, another version of ours, and CTranslate2 with the same weights, taking turns.

    python bench/decoding.py --run RUN --text FILE [--before OTHER/src] [--peer PYTHON]

Each contender is a process that stays: it loads its model, then translates the text again whenever its turn comes.
Each has one thread and is timed by the processor time that it takes, so that it matters little what else the machine
does; what is compared are ratios to the first contender, round by round.
`--before` is the `src` folder of another version of this repository; `--peer` a Python with ctranslate2 and numpy.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OURS = HERE.parent / "src"


@dataclass
class Contender:
    """A process that answers each line it is given with one JSON object."""

    name: str
    process: subprocess.Popen[str]

    @classmethod
    def start(cls, name: str, python: str, source: Path | None, job: dict[str, Any]) -> Contender:
        module, folders = ("decoding_peer", [HERE]) if source is None else ("decoding", [HERE, source])
        code = f"import sys; sys.path[:0] = {[*map(str, folders)]}; import {module}; {module}.serve({job})"
        command = [python, "-W", "ignore", "-c", code]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return cls(name, process)

    def turn(self) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def serve(job: dict[str, Any]) -> None:
    """One of ours, on one thread: the whole way from text to text."""
    from transduce.acceleration.allocator import keep_freed_memory
    from transduce.devices import ComputeConfig
    from transduce.translator import Translator

    keep_freed_memory()
    options = {} if job["form"] == "float32" else {"quantize": job["form"]}
    translator = Translator.load(job["run"], compute=ComputeConfig(device="cpu", threads=1), **options)
    lines = sentences(job)
    settings = {"beam": job["beam"], "length_penalty": 1.0, "length_penalty_form": "power"}
    for _ in sys.stdin:
        each, texts = [], []
        for at in range(0, len(lines), job["batch"]):
            begun = time.process_time()
            texts += [t.text for t in translator.translate(lines[at : at + job["batch"]], **settings)]
            each.append(time.process_time() - begun)
        answer(each, translator.tokenizers.target.encode_batch(texts))


def answer(each: list[float], ids: list[list[int]]) -> None:
    """One turn's figures; `ids` is what came out."""
    seconds, megabytes = sum(each), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "each": each, "ids": ids, "megabytes": megabytes}), flush=True)


def sentences(job: dict[str, Any]) -> list[str]:
    return Path(job["text"]).read_text(encoding="utf-8").split("\n")[: job["sentences"]]


def export(job: dict[str, Any], folder: Path) -> None:
    """What the peer needs: weights, settings, and the pieces of the text by number."""
    import numpy as np

    from transduce.translator import Translator

    translator = Translator.load(job["run"])
    (model,) = translator.models
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    np.savez(folder / "weights.npz", **weights, positions=model.positions.table.numpy())
    given = {
        "config": translator.experiment.model.model_dump(),
        "vocabulary": model.vocabulary,
        "sources": translator.tokenizers.source.encode_batch(sentences(job)),
    }
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")


def report(rounds: Sequence[dict[str, dict[str, Any]]]) -> None:
    """Speed, ratio to the first contender (median of the rounds, least and most), latency, and equal output."""
    names = list(rounds[0])
    first = rounds[0][names[0]]
    print(
        f"{'contender':<22}{'sentences/s':>12}{'ratio':>8}  {'spread':<14}{'median ms':>10}{'p95 ms':>8}"
        f"{'tokens':>8}{'same':>7}{'MB':>6}"
    )
    for name in names:
        ratios = sorted(r[names[0]]["seconds"] / r[name]["seconds"] for r in rounds)
        mine = rounds[0][name]
        speed = len(mine["ids"]) / statistics.median(r[name]["seconds"] for r in rounds)
        each = sorted(1000 * seconds for r in rounds for seconds in r[name]["each"])
        same = sum(a == b for a, b in zip(mine["ids"], first["ids"], strict=True)) / len(first["ids"])
        print(
            f"{name:<22}{speed:>12.1f}{statistics.median(ratios):>8.2f}  {ratios[0]:.2f} – {ratios[-1]:<7.2f}"
            f"{statistics.median(each):>10.1f}{each[int(0.95 * len(each))]:>8.1f}"
            f"{sum(map(len, mine['ids'])):>8}{same:>7.1%}{mine['megabytes']:>6.0f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="run folder of a Transformer")
    parser.add_argument("--text", type=Path, required=True, help="sentences to translate, a line each")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64, help="sentences at a time; 1 measures latency")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--forms", nargs="*", default=["float32", "int8"], help="forms of ours to measure")
    parser.add_argument("--before", type=Path, help="src folder of another version")
    parser.add_argument("--peer", help="a Python that has ctranslate2 and numpy")
    asked = parser.parse_args()
    job = {key: getattr(asked, key) for key in ("sentences", "beam", "batch")}
    job |= {"run": str(asked.run), "text": str(asked.text)}
    contenders = []
    with tempfile.TemporaryDirectory() as folder:
        if asked.before is not None:
            contenders.append(Contender.start("before", sys.executable, asked.before, {**job, "form": "float32"}))
        for form in asked.forms:
            contenders.append(Contender.start(f"ours {form}", sys.executable, OURS, {**job, "form": form}))
        if asked.peer:
            export(job, Path(folder))
            for form in ("float32", "int8"):
                theirs = {**job, "form": form, "folder": folder}
                contenders.append(Contender.start(f"CTranslate2 {form}", asked.peer, None, theirs))
        for contender in contenders:
            contender.turn()
        report([{c.name: c.turn() for c in contenders} for _ in range(asked.rounds)])
        for contender in contenders:
            contender.process.communicate()


if __name__ == "__main__":
    main()
