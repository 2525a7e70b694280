"""`transduce demo`: watch a small Transformer learn that 水课 is no water."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from transduce.commands.progress import TerminalWatcher
from transduce.commands.telling import legible
from transduce.commands.train import report
from transduce.demo.corpus import DESCRIPTION_EN, DESCRIPTION_ZH, SHOWCASE
from transduce.demo.shipped import EXPERIMENT
from transduce.recipe import load_experiment, train
from transduce.training.company import company, processes
from transduce.translator import Translator


def run_demo(run: Path | None, seed: int) -> int:
    """Train, test and translate. Returns the exit code."""
    setting = f"training.seed={seed}"
    experiment = load_experiment(EXPERIMENT, [setting]).experiment
    folder = run if run is not None else _free_folder(Path("runs"))
    typer.echo(DESCRIPTION_EN)
    typer.echo(DESCRIPTION_ZH)
    others = ["train", str(EXPERIMENT), "--set", setting, "--run", str(folder)]
    with TerminalWatcher(experiment) as watcher, company(processes(experiment), others):
        outcome = train(experiment, folder, watcher)
        code = report(outcome, watcher)
    if code:
        return code
    _show_probes(watcher)
    _show_translations(Translator.load(folder))
    typer.echo(legible(f'\nNow try:  transduce translate --run {folder} "我爱水课"'))
    return 0


def _free_folder(parent: Path) -> Path:
    """runs/demo, or the first of runs/demo-2, … that is not there: an earlier run is kept."""
    names = (parent / ("demo" if n == 1 else f"demo-{n}") for n in count(1))
    return next(path for path in names if not path.exists())


def _show_probes(watcher: TerminalWatcher) -> None:
    """How the probabilities moved at the place where the article looks (2.9)."""
    for index, probe in enumerate(watcher.probes):
        words = [word.strip() for word in probe.words]
        table = Table(title=f"{probe.source} → {probe.prefix} …", title_justify="left")
        table.add_column("update", justify="right")
        for word in words:
            table.add_column(f"P({word})", justify="right")
            table.add_column("", min_width=20)
        for update, validation in watcher.validations:
            values = validation.probes[index]
            bars = [text for word in words for text in (f"{values[word]:.3f}", "█" * round(20 * values[word]))]
            table.add_row(f"{update:,}", *bars)
        Console().print(table)


def _show_translations(translator: Translator) -> None:
    table = Table(title="水 in context: none of these sentences was in the training text", title_justify="left")
    for column in ("水 is here", "sentence", "translation", "reference", ""):
        table.add_column(column)
    results = translator.translate([item.source for item in SHOWCASE])
    for item, result in zip(SHOWCASE, results, strict=True):
        right = result.text == item.reference
        table.add_row(item.sense, item.source, result.text, item.reference, "✓" if right else "✗")
    Console().print(table)
