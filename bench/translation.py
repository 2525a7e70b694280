"""`python -m bench translation`: bulk and one at a time, beam 4 and greedy, the same weights in every engine."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import statistics
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bench import material
from bench.material import SIZES
from bench.measurement import Measurement, interpreter, wanted
from bench.report import Report, Row
from bench.workers import AVX2, PASSIVE, ROOT, Worker, closing_all
from transduce.text.tokenizer import Tokenizer

PEERS = {
    "Hugging Face generate": ("huggingface", "huggingface", "float32"),
    "CTranslate2 float32": ("ctranslate", "ctranslate2", "float32"),
    "CTranslate2 int8": ("ctranslate", "ctranslate2", "int8"),
}
"""Name, the file in `peers`, the environment, and the form of the weights."""
OURS = "ours float32"
MAX_EXTRA = 50
BATCHES = [8, 16, 32, 64, 128, 256]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=sorted(SIZES), default="small")
    parser.add_argument("--run", type=Path, help="run folder of a Transformer of yours; without it a model is trained "
                        "to know the sentences by heart, so that output ends where it should")  # fmt: skip
    parser.add_argument("--text", type=Path, help="sentences to translate with --run, a line each")
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--by-heart", type=int, default=256, help="different sentences that the model learns")
    parser.add_argument("--epochs", type=int, default=100, help="times that it sees them")
    parser.add_argument("--one-at-a-time", type=int, default=48, help="sentences of a turn in that mode; 0 = leave out")
    parser.add_argument("--rounds", type=int, default=5, help="turns that each takes")
    parser.add_argument("--patience", type=float, default=0, help="of ours: 1 stops a search where the peers stop "
                        "theirs; 0 goes on while anything better may come")  # fmt: skip
    parser.add_argument("--processor-time", action="store_true", help="count the time of the processor instead of the "
                        "clock's, with one thread for everyone: for a machine that does other things, too")  # fmt: skip
    parser.add_argument("--beams", type=int, nargs="*", default=[4, 1])
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument(
        "--only", nargs="*", help="contenders by the beginning of their names (ours float32 is always there)"
    )


def measure(given: argparse.Namespace, folder: Path, report: Report) -> None:
    given.threads = 1 if given.processor_time else given.threads
    run, text = (given.run, given.text) if given.run else by_heart(given)
    if text is None:
        raise SystemExit("bench: --run needs --text, the sentences to translate")
    job, target = export(given, folder, run, text)
    modes = [("bulk", given.sentences)] + ([("single", given.one_at_a_time)] if given.one_at_a_time else [])
    for mode, sentences in modes:
        for beam in given.beams:
            _measure(given, {**job, "mode": mode, "beam": beam, "sentences": sentences}, target, report)


def by_heart(given: argparse.Namespace) -> tuple[Path, Path]:
    """A run that knows some sentences by heart, and these, as often as they are to be translated. Trained once."""
    from transduce.recipe import load_experiment, train

    pairs, origin = material.pairs_of(given.data, given.pairs, given.vocabulary)
    sizes = {**SIZES[given.model], "dropout": 0.0}
    known = list(dict(pairs).items())[: given.by_heart]
    # All other words stand in texts that give the vocabulary its size.
    words = list(dict.fromkeys(word for pair in pairs for side in pair for word in side.split(" ")))
    rare = [(" ".join(words[i : i + 200]),) * 2 for i in range(0, len(words), 200)]
    key = hashlib.sha256(json.dumps([sizes, known, rare, given.vocabulary, given.epochs]).encode()).hexdigest()[:12]
    home = given.cache / "models" / f"{given.model}-{key}"
    if not (home / "runs" / "run" / "average").is_dir():
        print(f"bench: training a model to know {len(known)} sentences by heart ({origin})", file=sys.stderr)
        tokens = sum(len(target.split(" ")) + 1 for _, target in known)
        updates = max(10, given.epochs * -(-tokens // 1800))
        experiment = material.write_experiment(
            home, known, sizes, given.vocabulary, 2048, 1, rare=rare,
            training={"max_updates": updates, "validate_every": updates, "save_every": updates, "average": 1,
                      "learning_rate": 1e-3, "warmup": max(1, updates // 10), "decay": "linear", "clip_norm": 1.0},
        )  # fmt: skip
        shutil.rmtree(home / "runs", ignore_errors=True)
        train(load_experiment(experiment).experiment, home / "runs" / "run")
    text = home / "sentences"
    text.write_text("".join(f"{known[i % len(known)][0]}\n" for i in range(given.sentences)), encoding="utf-8")
    return home / "runs" / "run", text


def export(given: argparse.Namespace, folder: Path, run: Path, text: Path) -> tuple[dict[str, Any], Tokenizer]:
    """The job of all contenders: what the peers need is put into the folder. And how ids become text."""
    import numpy as np

    from transduce.search.constraints import banned_ids
    from transduce.translator import Translator

    translator = Translator.load(run)
    (model,) = translator.models
    weights = {name: value.cpu().float().numpy() for name, value in model.state_dict().items()}
    np.savez(folder / "weights.npz", **weights, positions=model.positions.table.cpu().numpy())
    lines = text.read_text(encoding="utf-8").split("\n")[: given.sentences]
    content = {
        "config": translator.experiment.model.model_dump(),
        "sources": translator.tokenizers.source.encode_batch(lines),
    }
    (folder / "given.json").write_text(json.dumps(content), encoding="utf-8")
    job = {
        "task": "translation", "folder": str(folder), "run": str(run.resolve()), "text": str(text.resolve()),
        "vocabulary": translator.tokenizers.target.size, "banned": banned_ids(translator.experiment.decoding),
        "batches": BATCHES, "max_extra": MAX_EXTRA, "threads": given.threads,
        "device": given.device, "precision": given.precision,
        "options": {"patience": given.patience} if given.patience else {},
        "processor_time": given.processor_time,
    }  # fmt: skip
    return job, translator.tokenizers.target


def _measure(given: argparse.Namespace, job: Mapping[str, Any], target: Tokenizer, report: Report) -> None:
    """One mode and beam, all contenders in turns, each in the setting that it finds fastest."""
    environment = AVX2 if given.avx2 else {}
    ours = {**PASSIVE, **environment}
    found = Measurement()
    with closing_all() as workers:
        for name, form, source in _ours(given):
            own = {**job, "form": form}
            start = partial(Worker.tuned, name, sys.executable, "ours_translation", own)
            found.begin(workers, name, partial(start, environment=ours, source=source))
        if not workers or workers[0].name != OURS:
            raise SystemExit(f"bench: ours could not be measured: {found.absent[OURS]}")
        for name, (module, needs, form) in PEERS.items():
            if wanted(given, name) and (given.device == "cpu" or form != "int8"):
                theirs = {**job, "form": form}
                found.begin(workers, name, lambda: Worker.tuned(
                    name, interpreter(given, needs), module, theirs, environment=environment))  # noqa: B023  # fmt: skip
        for number in range(-1, given.rounds):
            if number > 0 and time.monotonic() > given.deadline:
                break
            for worker in list(workers):
                found.turn(workers, worker, kept=number >= 0)
            print(f"bench: {job['mode']}, beam {job['beam']}, round {number + 1} of {given.rounds}", file=sys.stderr)
    _tell(job, found, target, report)
    report.absent(found.absent)
    report.versions({f"{name} ({job['mode']})": told for name, told in found.told.items()})


def _ours(given: argparse.Namespace) -> list[tuple[str, str, Path]]:
    source = ROOT / "src"
    found = [(OURS, "float32", source)]
    if given.device == "cpu" and wanted(given, "ours int8"):
        found.append(("ours int8", "int8", source))
    return found + ([("ours before", "float32", given.before)] if given.before else [])


def _tell(job: Mapping[str, Any], found: Measurement, target: Tokenizer, report: Report) -> None:
    texts: dict[str, list[str]] = {}
    for name, replies in found.rounds.items():
        outputs = replies[0]["outputs"]
        texts[name] = [o if isinstance(o, str) else target.decode(o) for o in outputs]
    rows = []
    for name, replies in found.rounds.items():
        rates = [len(texts[name]) / reply["seconds"] for reply in replies]
        tokens = sum(len(ids) + 1 for ids in target.encode_batch(texts[name]))
        same = sum(a == b for a, b in zip(texts[name], texts[OURS], strict=True)) / len(texts[OURS])
        extra = {"target tokens/s": f"{tokens * statistics.median(rates) / len(texts[name]):,.0f}"}
        if job["mode"] == "single":
            each = sorted(1000 * seconds for reply in replies for seconds in reply["each"])
            extra |= {"median ms": f"{statistics.median(each):.1f}", "p95 ms": f"{each[int(0.95 * len(each))]:.1f}"}
        extra |= {
            "memory MB": f"{found.most[name]:,.0f}",
            "target tokens": f"{tokens:,}",
            "same output": f"{same:.1%}",
            "setting": ", ".join(f"{key} {value}" for key, value in found.told[name]["setting"].items()),
        }
        rows.append(Row(name, rates, extra))
    mode = {"bulk": "all at once", "single": "one at a time"}[job["mode"]]
    report.table(
        f"Translation, {mode}, {_beam(job)}", "sentences/s", rows,
        note=f"{job['sentences']} sentences, {job['threads']} threads in all; each engine has the fastest of its "
        "settings that were tried; tokens count end marks.",
    )  # fmt: skip


def _beam(job: Mapping[str, Any]) -> str:
    return f"beam {job['beam']}" if job["beam"] > 1 else "greedy"
