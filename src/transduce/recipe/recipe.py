"""Training from an experiment to a finished run."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

from transduce.acceleration import products
from transduce.acceleration.allocator import keep_freed_memory, return_freed_memory
from transduce.acceleration.inference import training_arithmetic
from transduce.data.prepare import Prepared
from transduce.data.report import Report
from transduce.devices import Compute, resolve
from transduce.errors import ConfigError, InputError
from transduce.experiment import Experiment
from transduce.experiment.load import apply_settings
from transduce.models.contract import Model
from transduce.recipe.initial import start_from
from transduce.recipe.results import TestResult, finish
from transduce.recipe.text import (
    learn_tokenizers,
    prepare_data,
    read_texts,
    record_data,
    refuse_to_keep,
    refuse_too_long,
    suspicious_tests,
)
from transduce.run_folder import RunFolder, fitting_weights
from transduce.tasks import TASKS
from transduce.text.pair import Tokenizers
from transduce.text.word_vectors import load_word_vectors
from transduce.training.distributed import World, join
from transduce.training.fit import fit
from transduce.training.loop import Listener, Trainer
from transduce.training.memory import refuse_enormous
from transduce.training.validation import HeldOut, Validator

FREE_TO_CHANGE = ("training.max_updates", "training.max_epochs", "training.max_minutes", "training.patience",
                  "training.log_every", "validation.sentences", "compute.")  # fmt: skip
"""Settings that a resumed run may change: they decide when it ends and where it computes, not what it learns."""


CACHE = ".cache"
"""The folder beside a run for what other runs on the same text can use: its vocabulary, and the text encoded."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How training ended."""

    run: Path
    reason: str
    """Why it ended; empty if a signal interrupted it."""
    signal: int
    """The signal that interrupted it, or 0."""
    tests: list[TestResult]


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a run is about to do, for whoever watches."""

    report: Report
    compute: str
    parameters: int
    vocabularies: tuple[int, int]
    effective_batch: str
    resumed_at: int


class Watcher(Listener):
    """A listener that also hears what goes before and after training. This one hears and does nothing."""

    def preparing(self, what: str) -> None:
        """Before a step that takes a while."""

    def noticed(self, what: str) -> None:
        """What the user should know."""

    def announced(self, announcement: Announcement) -> None:
        """When everything is ready and the first update comes next."""


def train(experiment: Experiment, run: Path | str, watcher: Watcher | None = None) -> Outcome:
    """Train from the beginning into a new run folder, then average, test and draw the curve.

    Raises InputError (exit code 2) for anything wrong in the experiment or its data before training starts.
    """
    watcher = watcher or Watcher()
    path = Path(run)
    compute, world = _start(experiment)
    if world.leads:
        RunFolder.refuse_used(path)
        watcher.preparing("reading the training text and learning the tokenizer")
        tokenizers = learn_tokenizers(experiment, path.parent / CACHE, aside=True, tell=watcher.noticed)
        RunFolder.create(path, experiment, tokenizers)
        return_freed_memory()  # learning from a large text may take more than training
    world.wait()
    folder = RunFolder.open(path)
    try:
        return _go(folder, experiment, compute, world, watcher, resumed=False)
    except InputError:
        # What is wrong in the data will be mended; the next try must find the name free.
        if world.leads and not folder.checkpoints():
            shutil.rmtree(path)
        raise


def resume(run: Path | str, settings: Iterable[str] = (), watcher: Watcher | None = None) -> Outcome:
    """Continue a run from its newest whole checkpoint, as if it had never stopped.

    `settings` may change when the run ends and where it computes; any other change is refused by name.
    """
    folder = RunFolder.open(Path(run))
    experiment = folder.experiment
    changed = apply_settings(experiment, settings, str(folder.path))
    for setting in settings:
        if not setting.startswith(FREE_TO_CHANGE):
            raise ConfigError(
                f"--set {setting}: a resumed run goes on as it began; only {', '.join(FREE_TO_CHANGE)}* may change. "
                "Start a new run for another setting"
            )
    if changed.training.decay == "linear" and changed.training.max_updates != experiment.training.max_updates:
        raise ConfigError(
            '--set training.max_updates: training.decay = "linear" ends there, so another number would have changed '
            "what was learned so far; start a new run, or let max_epochs, max_minutes or patience end this one"
        )
    watcher = watcher or Watcher()
    compute, world = _start(changed)
    if world.leads:
        folder.clean()
        for damaged in folder.drop_damaged():
            watcher.noticed(f"{damaged} was damaged and is removed: going on from an earlier checkpoint")
        if changed != experiment:
            folder.record(changed)
    world.wait()
    return _go(folder, changed, compute, world, watcher, resumed=True)


def _start(experiment: Experiment) -> tuple[Compute, World]:
    keep_freed_memory()
    compute = resolve(experiment.compute)
    return compute, join(compute.device)


def _go(
    run: RunFolder, experiment: Experiment, compute: Compute, world: World, watcher: Watcher, *, resumed: bool
) -> Outcome:
    watcher.preparing("encoding the text, or finding it encoded")
    data = _prepare(run, experiment, world, watcher)
    return_freed_memory()
    task = TASKS[experiment.task]
    cost = task.cost({name: data.store.lengths(name) for name in task.streams})
    if world.leads:
        record_data(run, experiment, data, cost, resumed)
    checkpoint = run.newest_whole() if resumed else None
    if checkpoint is not None:
        fitting_weights(experiment.model, run.vocabularies, checkpoint)
    refuse_enormous(experiment.model, run.vocabularies, compute.device)
    if experiment.training.memory == "fit" and checkpoint is None:
        experiment = _fit(run, experiment, data, compute, world, watcher)
    torch.manual_seed(experiment.training.seed)
    model = build_model(experiment, run.tokenizers)
    if experiment.initial is not None and checkpoint is None:
        watcher.noticed(start_from(model, experiment.initial))
    held_out = HeldOut(*read_texts(experiment.data.valid))
    if not resumed:
        refuse_to_keep(held_out.sources, held_out.targets, experiment)
    refuse_too_long(experiment, run.tokenizers)
    suspicions = suspicious_tests(experiment, run.tokenizers)
    validator = Validator(held_out, run.tokenizers, task, experiment, compute)
    trainer = Trainer(model, task, data.store, validator, run, experiment, compute, world, watcher)
    if checkpoint is not None:
        if gap := trainer.resume(checkpoint):
            watcher.noticed(gap)
    elif world.leads:
        trainer.begin()
    if world.leads:
        if cost is not None:
            watcher.noticed(str(cost))
        for suspicion in suspicions:
            watcher.noticed(suspicion)
        watcher.announced(_announce(experiment, data.report, compute, model, run.tokenizers, trainer, world))
    with products.native_products(compute):
        interruption = trainer.train()
    if not trainer.state.finished or not world.leads:
        return Outcome(run.path, trainer.state.finished, interruption.signal, [])
    return Outcome(
        run.path, trainer.state.finished, 0, finish(run, experiment, data, trainer, compute, watcher.preparing)
    )


def _fit(
    run: RunFolder, experiment: Experiment, data: Prepared, compute: Compute, world: World, watcher: Watcher
) -> Experiment:
    """The experiment with batches that fit into memory, which the run folder has from now on."""
    asked = experiment.training
    watcher.preparing(f"trying whether batches of {asked.batch_tokens:,} tokens fit into memory")
    sizes = (run.tokenizers.source.size, run.tokenizers.target.size)
    fitting, reason = fit(sizes, TASKS[experiment.task], data.store, experiment, compute, world)
    if reason and world.leads:
        found = fitting.training
        watcher.noticed(
            f"training.batch_tokens is {found.batch_tokens:,} instead of {asked.batch_tokens:,}, and an update adds up "
            f'{found.accumulate} passes instead of {asked.accumulate} (training.memory = "fit"): {reason}'
        )
        run.record(fitting)
    world.wait()
    return fitting


def build_model(experiment: Experiment, tokenizers: Tokenizers) -> Model:
    """The experiment's model with fresh weights (of torch's seed), or word vectors where it names some."""
    model = experiment.model.build(tokenizers.source.size, tokenizers.target.size)
    for path, side, name in (
        (experiment.source_vectors, tokenizers.source, "source"),
        (experiment.target_vectors, tokenizers.target, "target"),
    ):
        if path is None:
            continue
        embedding = getattr(model, f"{name}_embedding", None)
        if embedding is None:
            raise ConfigError(
                f'{name}_vectors: model.kind = "{experiment.model.kind}" has no {name} embedding to put them in: leave '
                "it out"
            )
        load_word_vectors(path, side, embedding.weight, embedding.scale)
    return model


def _prepare(run: RunFolder, experiment: Experiment, world: World, watcher: Watcher) -> Prepared:
    """The encoded training text; the leading process makes it, the others find it made."""
    if not world.leads:
        world.wait()
    prepared = prepare_data(experiment, run.tokenizers, run.path.parent / CACHE, tell=watcher.noticed)
    if world.leads:
        world.wait()
    return prepared


def _announce(
    experiment: Experiment,
    report: Report,
    compute: Compute,
    model: Model,
    tokenizers: Tokenizers,
    trainer: Trainer,
    world: World,
) -> Announcement:
    config = experiment.training
    each = -(-config.accumulate // world.size)
    parts = [f"{config.batch_tokens:,} a pass"]
    parts += [f"{count} {name}" for count, name in ((each, "passes"), (world.size, "processes")) if count > 1]
    tokens = config.batch_tokens * config.accumulate
    batch = f"up to {tokens:,} padded tokens on either side an update ({' × '.join(parts)})"
    parameters = sum(p.numel() for p in model.parameters())
    sizes = (tokenizers.source.size, tokenizers.target.size)
    return Announcement(
        report, f"{compute}, {training_arithmetic(compute)}", parameters, sizes, batch, trainer.state.update
    )


def exit_code(outcome: Outcome) -> int:
    """0 for a finished run; 128 + the signal, as shells have it, for an interrupted one."""
    return 128 + outcome.signal if outcome.signal in (signal.SIGINT, signal.SIGTERM) else 0
