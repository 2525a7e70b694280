"""`python -m bench parts`: what each fast path gains: ours with it switched off, in turns with all of them on.

One process and one thread, by the processor's clock, so that what else the machine does counts little. Training is the
passes of a few updates, forward and backward. Translation is that of a run, the demo's unless another is named.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from types import ModuleType, SimpleNamespace

import torch

from bench import material
from bench.material import SIZES
from bench.report import Report, Row
from bench.workers import AVX2
from transduce.acceleration import attention, choice, cross_entropy, dropout
from transduce.acceleration.allocator import keep_freed_memory
from transduce.acceleration.inference import FORMS, Quantize, accelerate
from transduce.acceleration.products import native_products
from transduce.demo.corpus import pairs
from transduce.demo.shipped import RUN
from transduce.devices import Compute, ComputeConfig, resolve
from transduce.recipe import build_model
from transduce.run_folder import RunFolder
from transduce.search.decoding import evaluating
from transduce.tasks import TASKS
from transduce.translator import Translator

Contenders = Mapping[str, Callable[[], int]]
"""By name what does the work of a turn and says how much it was."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=sorted(SIZES), default="small", help="that trains")
    parser.add_argument("--rounds", type=int, default=5, help="turns that each takes")
    parser.add_argument("--updates", type=int, default=2, help="updates of a turn in training")
    parser.add_argument("--batch-tokens", type=int, default=2048, help="padded tokens of a pass, two to an update")
    parser.add_argument("--vocabulary", type=int, default=10_000, help="pieces")
    parser.add_argument("--run", type=Path, default=RUN, help="that translates")
    parser.add_argument("--text", type=Path, help="sentences for it, one a line; else those of the demo's test")
    parser.add_argument("--sentences", type=int, default=200, help="of the text in bulk, and a quarter one at a time")


def measure(given: argparse.Namespace, folder: Path, report: Report) -> None:
    if given.avx2 and not AVX2.items() <= os.environ.items():
        # Libraries read this when they are loaded: once more from the beginning.
        folder.rmdir()
        os.execve(sys.executable, [sys.executable, "-m", "bench", *sys.argv[1:]], {**os.environ, **AVX2})
    keep_freed_memory()
    compute = resolve(ComputeConfig(device="cpu", threads=1))
    _measure("Training", "target tokens/s", _training(given, folder, compute), given.rounds, report)
    lines = (
        [pair.source for pair in pairs("test")]
        if given.text is None
        else given.text.read_text(encoding="utf-8").splitlines()
    )
    some = lines[: given.sentences]
    for form in FORMS:
        name = {"none": "float32"}.get(form, form)
        for batch, texts in ((64, some), (1, some[: max(1, len(some) // 4)])):
            title = f"Translation, {name}, {'one sentence' if batch == 1 else f'{batch} sentences'} at a time, beam 4"
            work = _translation(given.run, form, texts, batch, compute)
            _measure(title, "sentences/s", work, given.rounds, report)


def _measure(title: str, unit: str, contenders: Contenders, rounds: int, report: Report) -> None:
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for kept in [False] + [True] * rounds:
        for name, work in contenders.items():
            begun = time.process_time()
            done = work()
            if kept:
                rates[name].append(done / (time.process_time() - begun))
    report.table(title, unit, [Row(name, of) for name, of in rates.items()])


@contextmanager
def _without(module: ModuleType) -> Iterator[None]:
    """A module whose native code could not be built."""
    kept = module.native
    module.native = SimpleNamespace(load=lambda: None, load_for=lambda _: None)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        module.native = kept  # type: ignore[attr-defined]


def _training(given: argparse.Namespace, folder: Path, compute: Compute) -> Contenders:
    text, _ = material.pairs_of(given.data, given.pairs, given.vocabulary)
    path = material.write_experiment(folder, text, SIZES[given.model], given.vocabulary, given.batch_tokens, 2)
    experiment, tokenizers, store, sampler = material.encoded(path, folder / "cache")
    task = TASKS[experiment.task]
    passes = [rows for update in islice(sampler.updates(), given.updates) for rows in update.micro_batches]
    batches = [task.collate(store, rows) for rows in passes]
    model = build_model(experiment, tokenizers)

    def work(off: Callable[[], AbstractContextManager[None]], *, products: bool = True) -> int:
        with off(), native_products(compute) if products else nullcontext():
            for batch in batches:
                model.zero_grad()
                task.loss(model, batch, 0.1).backward()
        return sum(int(batch["expected"].lengths.sum()) for batch in batches)

    parts = {"attention": attention, "loss": cross_entropy, "dropout": dropout}
    return {
        "ours": lambda: work(nullcontext),
        "without native products": lambda: work(nullcontext, products=False),
        **{f"without native {name}": lambda of=module: work(lambda: _without(of)) for name, module in parts.items()},
        # What the cheapest dropout could gain.
        "with no dropout at all": lambda: work(lambda: evaluating(model)),
    }


def _translation(run: Path, form: Quantize, texts: list[str], batch: int, compute: Compute) -> Contenders:
    folder = RunFolder.open(run)

    def model(*, native_code: bool = True) -> torch.nn.Module:
        found = folder.model("auto").eval()
        accelerate(found, compute, form, native_code=native_code)
        return found

    def work(of: torch.nn.Module) -> int:
        translator = Translator([of], folder.tokenizers, folder.experiment, compute)
        for at in range(0, len(texts), batch):
            translator.translate(texts[at : at + batch], beam=4)
        return len(texts)

    whole, reads, writes, plain = model(), model(), model(), model(native_code=False)
    reads.encode = plain.encode
    writes.start, writes.step = plain.start, plain.step

    def chosen_plainly() -> int:
        with _without(choice):
            return work(whole)

    found = {
        "ours": lambda: work(whole),
        "without the native encoder": lambda: work(reads),
        "without the native decoding step": lambda: work(writes),
        "without the native choice of tokens": chosen_plainly,
        "without all three, products as in other models": lambda: work(plain),
    }
    if form == "none":
        bare = folder.model("auto").eval()
        found["PyTorch alone"] = lambda: work(bare)
    return found
