"""What a finished run is worth: average, scores, curve, record."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce import __version__
from transduce.data.corpus import CorpusConfig, checksum
from transduce.data.prepare import Prepared
from transduce.devices import Compute, hardware
from transduce.evaluation.scores import Score, exact_match, score
from transduce.experiment import Experiment
from transduce.recipe.text import BUILTINS, read_texts
from transduce.run_folder import RunFolder, write_snapshot, write_text
from transduce.tasks import Cost
from transduce.training.averaging import average_weights
from transduce.training.curve import draw_curve
from transduce.training.loop import Trainer
from transduce.translator import Translator

SAMPLES = 10
"""Outputs that are kept of each test set."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """Scores of one test set, and some outputs."""

    name: str
    scores: list[Score]
    samples: list[dict[str, str]]
    cost: Cost | None
    """What the task cannot give of the references."""


def finish(
    run: RunFolder,
    experiment: Experiment,
    data: Prepared,
    trainer: Trainer,
    compute: Compute,
    preparing: Callable[[str], None],
) -> list[TestResult]:
    """Average the last checkpoints (6.1), score the test sets, record it all, draw the curve."""
    snapshots = run.checkpoints()
    weights = average_weights(snapshots)
    steps = [int(s.state()["update"]) for s in snapshots]
    write_snapshot(run.path / "average", {"weights": weights}, {"updates": steps})
    tests = []
    sums = {}
    if experiment.data.test:
        translator = Translator.load(run.path, compute=experiment.compute.model_copy(update={"threads": compute.cores}))
        for name, corpus in experiment.data.test.items():
            preparing(f"scoring the test set `{name}`")
            sums[name] = checksum([corpus], builtins=BUILTINS)
            tests.append(_test(name, corpus, translator, experiment))
    draw_curve(run.journal, run.path / "curve.png", experiment.name)
    _record_results(run, experiment, data, trainer, compute, tests, sums)
    return tests


def _test(name: str, corpus: CorpusConfig, translator: Translator, experiment: Experiment) -> TestResult:
    sources, targets = read_texts(corpus)
    if translator.task.metrics is None:
        return TestResult(name, translator.measure(targets), [], None)
    references = [translator.tokenizers.target.plain(text) for text in targets]
    outputs = [translation.text for translation in translator.translate(sources)]
    # Spread evenly over the test, so that nobody picks them and no part of it is left out.
    shown = sorted({i * len(sources) // SAMPLES for i in range(SAMPLES)})
    rows = [{"source": sources[i], "output": outputs[i], "reference": references[i]} for i in shown]
    scores = score(
        outputs,
        [references],
        language=experiment.target_language,
        scoring=experiment.scoring,
        metrics=translator.task.metrics,
    )
    return TestResult(name, [*scores, exact_match(outputs, [references])], rows, translator.cost(sources, targets))


def _record_results(
    run: RunFolder,
    experiment: Experiment,
    data: Prepared,
    trainer: Trainer,
    compute: Compute,
    tests: Sequence[TestResult],
    sums: dict[str, str],
) -> None:
    state, task = trainer.state, trainer.task
    cost = task.cost({name: data.store.lengths(name) for name in task.streams})
    results: dict[str, Any] = {
        "tests": {
            test.name: {
                "scores": [{"name": s.name, "value": s.value, "signature": s.signature} for s in test.scores],
                "sha256": sums[test.name],
                "decoding": experiment.decoding.model_dump(include=set(task.decoding)),
                "samples": test.samples,
                **({} if test.cost is None else {"task_cost": test.cost.figures}),
            }
            for test in tests
        },
        "task": task.name,
        **({} if cost is None else {"task_cost": cost.figures}),
        "seed": experiment.training.seed,
        "updates": state.update,
        "finished": state.finished,
        "best_update": state.best_update,
        "source_tokens": state.source_tokens,
        "target_tokens": state.target_tokens,
        "training_flops": state.flops,
        "training_seconds": round(state.seconds, 1),
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "experiment_sha256": _sha256(run.path / "experiment.toml"),
        "weights_sha256": _sha256(run.path / "average/weights.safetensors"),
        "data_sha256": {"train": data.checksum, "valid": checksum([experiment.data.valid], builtins=BUILTINS)},
        "compute": str(compute) + (f", {trainer.world.size} processes" if trainer.world.size > 1 else ""),
        "hardware": hardware(),
        "transduce": __version__,
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    write_text(run.path / "results.json", json.dumps(results, ensure_ascii=False, indent=1) + "\n")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
