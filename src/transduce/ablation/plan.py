"""From a base experiment to the experiments of the table's rows, each with every seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.ablation.rows import Row, scaled
from transduce.comparison.family import Budget, budgeted
from transduce.comparison.run import Job
from transduce.errors import ConfigError
from transduce.experiment import Experiment
from transduce.models import TransformerConfig
from transduce.models.outline import count_parameters
from transduce.recipe import learn_tokenizers, prepare_data

TEST = "validation"
"""The name that the validation text has as a test set: what the paper tells rows apart by is its development set."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A row at the base's scale."""

    row: Row
    changes: Mapping[str, Any]
    """What is other than in the base, here."""
    trials: Sequence[Job]
    """One for each seed."""
    same_as: str
    """The earlier row whose settings are these too, and whose trials it shares; empty if there is none."""


def plan(base: Experiment, budget: Budget, rows: Sequence[Row], seeds: Sequence[int], cache: Path) -> list[Variant]:
    """The rows on the base's text with its tokenizer and budget. Raises ConfigError where it is no Transformer."""
    model = _transformer(base)
    tokenizers = learn_tokenizers(base, cache)
    data = prepare_data(base, tokenizers, cache)
    sizes = (tokenizers.source.size, tokenizers.target.size)
    training = {
        **base.training.model_dump(mode="json"),
        **budgeted(base, budget, data),
        "average": 1,
        "best_by": "loss",
    }
    found: list[Variant] = []
    for row in rows:
        changes = scaled(row, model, base.training.label_smoothing)
        experiments = [_experiment(base, row, changes, training, seed) for seed in seeds]
        size = count_parameters(experiments[0].model, *sizes)
        trials = [Job(e.name, f"{row.name}, seed {seed}", e, size) for e, seed in zip(experiments, seeds, strict=True)]
        earlier = next((other for other in found if _alike(other.trials[0].experiment, experiments[0])), None)
        if earlier is None:
            found.append(Variant(row, changes, trials, ""))
        else:
            found.append(Variant(row, changes, earlier.trials, earlier.row.name))
    return found


def trials_of(variants: Sequence[Variant]) -> list[Job]:
    """All that are to be trained, each once: a whole table with the first seed before another with the next."""
    return [job for jobs in zip(*(v.trials for v in variants if not v.same_as), strict=True) for job in jobs]


def _transformer(base: Experiment) -> TransformerConfig:
    if base.task != "translate" or not isinstance(base.model, TransformerConfig):
        raise ConfigError(
            f'the paper\'s Table 3 varies a Transformer that translates, not model.kind = "{base.model.kind}" with '
            f'task = "{base.task}": leave both out'
        )
    for name in ("initial", "source_vectors", "target_vectors"):
        if getattr(base, name) is not None:
            raise ConfigError(f"{name}: the rows of Table 3 start from nothing: leave it out")
    return base.model


def _experiment(
    base: Experiment, row: Row, changes: Mapping[str, Any], training: Mapping[str, Any], seed: int
) -> Experiment:
    table = base.model_dump(mode="json", exclude_none=True)
    of_model = {key: value for key, value in changes.items() if key != "label_smoothing"}
    table["name"] = f"{row.name}-seed{seed}"
    table["model"] |= of_model
    table["training"] = {**training, "seed": seed}
    table["training"] |= {key: value for key, value in changes.items() if key == "label_smoothing"}
    # The paper's formula gives a wider model a lower rate, by 1/√d_model (5.3): so does this where the rate is given.
    width = table["model"]["d_model"] / base.model_dump()["model"]["d_model"]
    table["training"]["learning_rate"] /= math.sqrt(width)
    table["data"]["test"] = {TEST: table["data"]["valid"]}
    table["validation"] |= {"sentences": 0, "probes": []}
    return Experiment.model_validate(table)


def _alike(one: Experiment, other: Experiment) -> bool:
    ignored = {"name"}
    return one.model_dump(exclude=ignored) == other.model_dump(exclude=ignored)
