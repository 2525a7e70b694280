"""From an experiment to a finished run: joins data, tokenizers, model and loop."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from transduce import __version__
from transduce.acceleration.allocator import keep_freed_memory
from transduce.data.corpus import Builtins, CorpusConfig, checksum, count_pairs, read_pairs
from transduce.data.filters import clean_pairs, fingerprints
from transduce.data.prepare import Prepared, prepare
from transduce.data.report import Report
from transduce.demo import corpus as demo
from transduce.devices import Compute, hardware, resolve
from transduce.errors import ConfigError, DataError, RunError
from transduce.evaluation.scores import Score, score
from transduce.experiment import Experiment
from transduce.experiment.load import Loaded, apply_settings
from transduce.experiment.load import load as load_with
from transduce.models.contract import EncoderDecoder
from transduce.run_folder import RunFolder, write_snapshot, write_text
from transduce.tasks.translate import Translate
from transduce.text.pair import Tokenizers
from transduce.text.word_vectors import load_word_vectors
from transduce.training.averaging import average_weights
from transduce.training.curve import draw_curve
from transduce.training.distributed import World, join
from transduce.training.loop import Listener, Trainer
from transduce.training.validation import HeldOut, Validator
from transduce.translator import Translator

BUILTINS: Builtins = {
    f"demo-{split}": lambda split=split: ((e.source, e.target) for e in demo.pairs(split))  # type: ignore[misc]
    for split in ("train", "valid", "test", "long")
}

FREE_TO_CHANGE = ("training.max_updates", "training.max_epochs", "training.max_minutes", "training.patience",
                  "training.log_every", "validation.sentences", "compute.")  # fmt: skip
"""Settings that a resumed run may change: they decide when it ends and where it computes, not what it learns."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """Scores of one test set, and the first few outputs."""

    name: str
    scores: list[Score]
    samples: list[dict[str, str]]


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
    compute: Compute
    parameters: int
    vocabularies: tuple[int, int]
    effective_batch: str
    resumed_at: int


class Watcher(Listener):
    """A listener that also hears what goes before and after training. This one hears and does nothing."""

    def preparing(self, what: str) -> None:
        """Before a step that takes a while."""

    def announced(self, announcement: Announcement) -> None:
        """When everything is ready and the first update comes next."""


def load_experiment(path: Path | str, settings: Iterable[str] = ()) -> Loaded:
    """Read an experiment file; `settings` ("training.seed=2") go over it. A preset is chosen by corpus size."""
    return load_with(Path(path), settings, lambda corpora: count_pairs(corpora, builtins=BUILTINS))


def train(experiment: Experiment, run: Path | str, watcher: Watcher | None = None) -> Outcome:
    """Train from the beginning into a new run folder, then average, test and draw the curve.

    Raises InputError (exit code 2) for anything wrong in the experiment or its data before training starts.
    """
    watcher = watcher or Watcher()
    path = Path(run)
    compute, world = _start(experiment)
    RunFolder.refuse_used(path)
    if world.leads:
        watcher.preparing("reading the training text and learning the tokenizer")
        tokenizers = learn_tokenizers(experiment)
        RunFolder.create(path, experiment, tokenizers)
    world.wait()
    return _go(RunFolder.open(path), experiment, compute, world, watcher, resumed=False)


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
    compute, world = _start(changed)
    if world.leads:
        folder.clean()
    world.wait()
    return _go(folder, changed, compute, world, watcher or Watcher(), resumed=True)


def _start(experiment: Experiment) -> tuple[Compute, World]:
    keep_freed_memory()
    compute = resolve(experiment.compute)
    return compute, join(compute.device)


def _go(
    run: RunFolder, experiment: Experiment, compute: Compute, world: World, watcher: Watcher, *, resumed: bool
) -> Outcome:
    watcher.preparing("encoding the text, or finding it encoded")
    data = _prepare(run, experiment, world)
    _record_data(run, experiment, data, resumed)
    task = Translate()
    torch.manual_seed(experiment.training.seed)
    model = build_model(experiment, run.tokenizers)
    held_out = HeldOut(*_texts(experiment.data.valid))
    validator = Validator(held_out, run.tokenizers, task, experiment, compute)
    trainer = Trainer(model, task, data.store, validator, run, experiment, compute, world, watcher)
    if resumed and (snapshot := run.newest_whole()) is not None:
        trainer.resume(snapshot)
    elif resumed and world.leads:
        trainer.journal.cut(0)
    if world.leads:
        watcher.announced(_announce(experiment, data.report, compute, model, run.tokenizers, trainer, world))
    interruption = trainer.train()
    if not trainer.state.finished or not world.leads:
        return Outcome(run.path, trainer.state.finished, interruption.signal, [])
    return Outcome(run.path, trainer.state.finished, 0, _finish(run, experiment, data, trainer, compute, watcher))


def build_model(experiment: Experiment, tokenizers: Tokenizers) -> EncoderDecoder:
    """The experiment's model with fresh weights (of torch's seed), or word vectors where it names some."""
    model = experiment.model.build(tokenizers.source.size, tokenizers.target.size)
    for path, side, embedding in (
        (experiment.source_vectors, tokenizers.source, model.source_embedding),
        (experiment.target_vectors, tokenizers.target, model.target_embedding),
    ):
        if path is not None:
            load_word_vectors(path, side, embedding.weight, embedding.scale)
    return model


def learn_tokenizers(experiment: Experiment) -> Tokenizers:
    """Tokenizers trained on the training text as the filters leave it."""
    data = experiment.data
    barred = fingerprints(_held_out(experiment), data.filters, builtins=BUILTINS)

    def pairs() -> Iterable[tuple[str, str]]:
        kept = clean_pairs(data.train, data.filters, Report(), builtins=BUILTINS, held_out=barred)
        return ((pair.source, pair.target) for _, pair in kept)

    return Tokenizers.train(experiment.tokenizer, pairs)


def _prepare(run: RunFolder, experiment: Experiment, world: World) -> Prepared:
    """The encoded training text; the leading process makes it, the others find it made."""
    if not world.leads:
        world.wait()
    prepared = prepare_data(experiment, run.tokenizers, run.path.parent / ".cache")
    if world.leads:
        world.wait()
    return prepared


def prepare_data(experiment: Experiment, tokenizers: Tokenizers, cache: Path, *, enforce: bool = True) -> Prepared:
    """Read, filter and encode the training text, or find it in the cache."""
    languages = (experiment.source_language, experiment.target_language)
    return prepare(
        experiment.data.train,
        experiment.data.filters,
        tokenizers,
        cache,
        builtins=BUILTINS,
        held_out=_held_out(experiment),
        languages=languages if all(languages) else None,
        enforce=enforce,
    )


def _record_data(run: RunFolder, experiment: Experiment, data: Prepared, resumed: bool) -> None:
    """Write data.json, or on resume make sure that the text is still the one the run began with."""
    path = run.path / "data.json"
    checksums = {"train": data.checksum, "valid": checksum([experiment.data.valid], builtins=BUILTINS)}
    if resumed and path.exists():
        before = json.loads(path.read_bytes())["sha256"]
        changed = [name for name in checksums if checksums[name] != before.get(name)]
        if changed:
            raise RunError(
                f"{run.path}: the {' and '.join(changed)} text has changed since this run began; "
                "restore it to resume, or start a new run"
            )
        return
    write_text(path, json.dumps({"sha256": checksums, "report": data.report.to_json()}, ensure_ascii=False, indent=1))


def _announce(
    experiment: Experiment,
    report: Report,
    compute: Compute,
    model: EncoderDecoder,
    tokenizers: Tokenizers,
    trainer: Trainer,
    world: World,
) -> Announcement:
    config = experiment.training
    each = -(-config.accumulate // world.size)
    batch = (
        f"up to {config.batch_tokens * config.accumulate:,} padded tokens on either side an update "
        f"({config.batch_tokens:,} a pass × {each} passes × {world.size} processes)"
    )
    parameters = sum(p.numel() for p in model.parameters())
    sizes = (tokenizers.source.size, tokenizers.target.size)
    return Announcement(report, compute, parameters, sizes, batch, trainer.state.update)


def _finish(
    run: RunFolder, experiment: Experiment, data: Prepared, trainer: Trainer, compute: Compute, watcher: Watcher
) -> list[TestResult]:
    """Average the last checkpoints (6.1), score the test sets, record it all, draw the curve."""
    snapshots = run.checkpoints()
    weights = average_weights(snapshots)
    steps = [int(s.state()["update"]) for s in snapshots]
    write_snapshot(run.path / "average", {"weights": weights}, {"updates": steps})
    tests = []
    sums = {}
    if experiment.data.test:
        translator = Translator.load(run.path, compute=experiment.compute)
        for name, corpus in experiment.data.test.items():
            watcher.preparing(f"translating the test set `{name}`")
            sums[name] = checksum([corpus], builtins=BUILTINS)
            tests.append(_test(name, corpus, translator, experiment.target_language))
    draw_curve(run.journal, run.path / "curve.png", experiment.name)
    _record_results(run, experiment, data, trainer, compute, tests, sums)
    return tests


def _test(name: str, corpus: CorpusConfig, translator: Translator, language: str) -> TestResult:
    sources, references = _texts(corpus)
    outputs = [translation.text for translation in translator.translate(sources)]
    rows = [
        {"source": s, "output": o, "reference": r} for s, o, r in zip(sources[:10], outputs, references, strict=False)
    ]
    return TestResult(name, score(outputs, [references], language=language), rows)


def _record_results(
    run: RunFolder,
    experiment: Experiment,
    data: Prepared,
    trainer: Trainer,
    compute: Compute,
    tests: Sequence[TestResult],
    sums: dict[str, str],
) -> None:
    state = trainer.state
    results: dict[str, Any] = {
        "tests": {
            test.name: {
                "scores": [{"name": s.name, "value": s.value, "signature": s.signature} for s in test.scores],
                "sha256": sums[test.name],
                "decoding": experiment.decoding.model_dump(),
                "samples": test.samples,
            }
            for test in tests
        },
        "seed": experiment.training.seed,
        "updates": state.update,
        "finished": state.finished,
        "best_update": state.best_update,
        "source_tokens": state.source_tokens,
        "target_tokens": state.target_tokens,
        "training_flops": state.flops,
        "training_seconds": round(state.seconds, 1),
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "data_sha256": {"train": data.checksum, "valid": checksum([experiment.data.valid], builtins=BUILTINS)},
        "compute": str(compute),
        "hardware": hardware(),
        "transduce": __version__,
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    write_text(run.path / "results.json", json.dumps(results, ensure_ascii=False, indent=1) + "\n")


def _held_out(experiment: Experiment) -> list[CorpusConfig]:
    return [experiment.data.valid, *experiment.data.test.values()]


def _texts(corpus: CorpusConfig) -> tuple[list[str], list[str]]:
    """A held-out corpus whole: nothing is filtered from what is measured, but an empty side is refused."""
    sources, targets = [], []
    for pair in read_pairs(corpus, builtins=BUILTINS):
        if not pair.source.strip() or not pair.target.strip():
            raise DataError(
                f"{corpus.name}: an empty side in held-out text; fill it in or take the pair out", line=pair.number
            )
        sources.append(pair.source)
        targets.append(pair.target)
    return sources, targets


def exit_code(outcome: Outcome) -> int:
    """0 for a finished run; 128 + the signal, as shells have it, for an interrupted one."""
    return 128 + outcome.signal if outcome.signal in (signal.SIGINT, signal.SIGTERM) else 0
