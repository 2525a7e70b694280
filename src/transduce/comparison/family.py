"""The family: each model with settings of like size, and the experiment that trains it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from transduce.comparison.run import Job
from transduce.data.batching import Sampler
from transduce.data.prepare import Prepared
from transduce.errors import ConfigError
from transduce.experiment import Experiment
from transduce.models import ModelConfig
from transduce.models.outline import count_parameters
from transduce.recipe import learn_tokenizers, prepare_data
from transduce.recipe.text import held_out, read_texts
from transduce.tasks import TASKS
from transduce.text.pair import Tokenizers
from transduce.training.schedule import learning_rate

DEMONSTRATIONS = "demonstrations"
"""What stands beside the members in a choice of what to report."""
TOLERANCE = 0.15
"""Share by which parameters may differ from those of the experiment's own model."""

_CONFIG: TypeAdapter[ModelConfig] = TypeAdapter(ModelConfig)


@dataclass(frozen=True, slots=True)
class Member:
    """A model of the family."""

    name: str
    """Names its run folder."""
    label: str
    column: str | None
    """Its column in the article's checklist (1.7), if it has one."""
    settings: Callable[[int, int], dict[str, Any]]
    """Those of `[model]`, for a width and for the longest sentence in tokens."""
    step: int = 2
    """Widths are multiples of it."""


# A mean or a concatenation has one hidden layer, as in the article; a plain RNN has one as well (1.4). Convolutions
# have to be stacked to see far: three layers of ConvS2S see 7 tokens, ByteNet's dilations 1, 2, 4, 8 see 31. ConvS2S
# takes sinusoids where its authors learn positions, so that no weights are spent on places that training never reaches.
# Cells are their papers': LSTM for sequence to sequence, GRU beside attention.
FAMILY: tuple[Member, ...] = (
    Member("fnn_mean", "FNN, mean", "FNN mean",
           lambda d, _: {"kind": "feed_forward", "input": "mean", "d_model": d, "d_ff": 4 * d}),
    Member("fnn_concat", "FNN, concatenated", "FNN concat",
           lambda d, n: {"kind": "feed_forward", "input": "concat", "d_model": d, "d_ff": 4 * d, "max_positions": n}),
    Member("rnn", "RNN", "RNN", lambda d, _: {"kind": "rnn", "cell": "rnn", "d_model": d}),
    Member("lstm", "LSTM", "RNN", lambda d, _: {"kind": "rnn", "cell": "lstm", "d_model": d}),
    Member("gru", "GRU", "RNN", lambda d, _: {"kind": "rnn", "cell": "gru", "d_model": d}),
    Member("seq2seq", "LSTM, encoder-decoder (source reversed)", "+ encoder-decoder",
           lambda d, _: {"kind": "seq2seq", "cell": "lstm", "layers": 1, "d_model": d, "reverse_source": True}),
    Member("rnn_search", "GRU with attention", "+ attention",
           lambda d, _: {"kind": "rnn_search", "cell": "gru", "layers": 1, "d_model": d, "attention": "additive"}),
    Member("convs2s", "ConvS2S", None,
           lambda d, _: {"kind": "convs2s", "encoder_layers": 3, "decoder_layers": 3, "d_model": d,
                         "positions": "sinusoidal"}),
    Member("bytenet", "ByteNet", None,
           lambda d, _: {"kind": "bytenet", "encoder_layers": 4, "decoder_layers": 4, "d_model": d,
                         "max_dilation": 8}),
    Member("transformer", "Transformer", "Transformer",
           lambda d, _: {"kind": "transformer", "encoder_layers": 2, "decoder_layers": 2, "d_model": d, "d_ff": 2 * d,
                         "heads": 4}, step=4),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Budget:
    """How long each member trains; without either number, as long as the experiment says."""

    tokens: int | None = None
    """Target tokens, end marks included."""
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a member is made of, and how it learns."""

    cell: str | None
    """Of its recurrent layers, if it has any."""
    layers: str
    """Those of the encoder + those of the decoder, where it has the two."""
    width: int
    others: dict[str, Any]
    """Settings that the family gives it beside these."""
    peak_rate: float
    decay: str


@dataclass(frozen=True, slots=True)
class Planned(Job):
    """A member of the family and the experiment that trains it."""

    column: str | None
    """Its column in the article's checklist, if it has one."""
    recipe: Recipe
    longest: int
    """Tokens of the longest sentence of training, validation and tests, on either side."""


def choose(names: Sequence[str]) -> tuple[Member, ...]:
    """The members of these names in the family's order; all of them for no names. Raises ConfigError."""
    known = [*(member.name for member in FAMILY), DEMONSTRATIONS]
    for name in names:
        if name not in known:
            raise ConfigError(f"--only {name}: expected one of {', '.join(known)}")
    return tuple(member for member in FAMILY if not names or member.name in names)


def plan(base: Experiment, budget: Budget, members: Sequence[Member], cache: Path) -> list[Planned]:
    """An experiment for each member: the same text, tokenizer and budget, and as many parameters as `base` has.

    Raises ConfigError for a `base` that the family can't share.
    """
    _refuse_unshared(base)
    tokenizers = learn_tokenizers(base, cache)
    data = prepare_data(base, tokenizers, cache)
    longest = _longest(base, tokenizers, data)
    sizes = (tokenizers.source.size, tokenizers.target.size)
    target = count_parameters(base.model, *sizes)
    planned = []
    for member in members:
        own = member.settings(member.step, longest)["kind"] == base.model.kind
        model = base.model if own and _only_of_its_kind(member) else fitting(member, base, longest, sizes, target)
        experiment = _experiment(base, member, model, longest, budgeted(base, budget, data))
        recipe = _recipe(member, experiment)
        count = count_parameters(model, *sizes)
        planned.append(Planned(member.name, member.label, experiment, count, member.column, recipe, longest))
    return planned


def fitting(member: Member, base: Experiment, longest: int, vocabularies: tuple[int, int], target: int) -> ModelConfig:
    """The member at the width whose parameters come nearest to `target`. Raises ConfigError beyond `TOLERANCE`."""

    def at(multiple: int) -> ModelConfig:
        tie = "all" if base.tokenizer.joint else "none"
        settings = member.settings(member.step * multiple, longest)
        return _CONFIG.validate_python({**settings, "tie": tie, "dropout": getattr(base.model, "dropout", 0.0)})

    def over(multiple: int) -> float:
        return count_parameters(at(multiple), *vocabularies) / target - 1

    high = 1
    while over(high) < 0:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if over(middle) < 0 else (low, middle)
    best = min(max(1, low), high, key=lambda multiple: abs(over(multiple)))
    if abs(over(best)) > TOLERANCE:
        raise ConfigError(
            f"{member.label}: its nearest size to the {target:,} parameters of the experiment's model is "
            f"{over(best):+.0%} of them away, and {TOLERANCE:.0%} are allowed: give the experiment a larger model"
        )
    return at(best)


def _recipe(member: Member, experiment: Experiment) -> Recipe:
    model = experiment.model
    settings = model.model_dump()
    given = {name: settings[name] for name in member.settings(member.step, 1)}
    width, cell, one = given.pop("d_model"), given.pop("cell", None), given.pop("layers", 1)
    both = "encoder-decoder" in model.capabilities
    layers = f"{given.pop('encoder_layers', one)} + {given.pop('decoder_layers', one)}" if both else f"{one}"
    rate = learning_rate(experiment.training.warmup, width, experiment.training)
    others = {name: value for name, value in given.items() if name != "kind"}
    return Recipe(cell, layers, width, others, rate, experiment.training.decay)


def _only_of_its_kind(member: Member) -> bool:
    kinds = [other.settings(other.step, 1)["kind"] for other in FAMILY]
    return kinds.count(member.settings(member.step, 1)["kind"]) == 1


def _refuse_unshared(base: Experiment) -> None:
    if base.task != "translate":
        raise ConfigError(f'task = "{base.task}": the family is compared on the task "translate": leave `task` out')
    for name in ("initial", "source_vectors", "target_vectors"):
        if getattr(base, name) is not None:
            raise ConfigError(f"{name}: the models of a comparison start from nothing: leave it out")


def _longest(base: Experiment, tokenizers: Tokenizers, data: Prepared) -> int:
    """Tokens of the longest sentence that any member has to take, on either side: concatenated input needs a limit."""
    most = max(int(data.store.lengths(name).max()) for name in ("source", "target"))
    for corpus in held_out(base):
        for tokenizer, texts in zip((tokenizers.source, tokenizers.target), read_texts(corpus), strict=True):
            most = max(most, *(len(ids) for ids in tokenizer.encode_batch(texts)))
    return most


def budgeted(base: Experiment, budget: Budget, data: Prepared) -> dict[str, Any]:
    """What the budget changes of the experiment's training: warm-up and intervals keep their share of the whole."""
    config = base.training
    changes: dict[str, Any] = {"patience": 0}
    if budget.minutes is not None:
        # Nobody knows how many updates that will be, so the rate can't go down to zero at the last.
        changes |= {"max_minutes": budget.minutes, "max_updates": 10**6, "decay": "inverse_sqrt"}
    if budget.tokens is not None:
        updates = max(1, round(budget.tokens / tokens_per_update(base, data)))
        share = updates / config.max_updates
        scaled = {name: max(1, math.ceil(getattr(config, name) * share))
                  for name in ("warmup", "validate_every", "save_every", "log_every")}  # fmt: skip
        changes |= {"max_updates": updates, "max_epochs": 0, **scaled}
    return changes


def tokens_per_update(base: Experiment, data: Prepared) -> float:
    """Target tokens, end marks included, that an update of this experiment learns from on average."""
    lengths = {name: data.store.lengths(name) for name in TASKS[base.task].streams}
    sampler = Sampler(
        lengths,
        weights=data.store.weights([corpus.weight for corpus in base.data.train]),
        batch_tokens=base.training.batch_tokens,
        accumulate=base.training.accumulate,
        seed=base.training.seed,
    )
    return float((lengths["target"] + 1).sum()) / len(sampler.epoch_plan(0))


def _experiment(
    base: Experiment, member: Member, model: ModelConfig, longest: int, training: dict[str, Any]
) -> Experiment:
    table = base.model_dump(mode="json", exclude_none=True)
    task = next(task for task in TASKS.values() if task.needs in model.capabilities)
    table["name"] = member.name
    table["task"] = task.name
    table["model"] = model.model_dump(mode="json", exclude_none=True)
    table["training"] |= training
    # Scores are of whole test sets; where there are none, of the whole validation text.
    table["data"]["test"] = table["data"]["test"] or {"validation": table["data"]["valid"]}
    table["data"]["filters"]["max_length"] = min(longest, table["data"]["filters"]["max_length"])
    table["decoding"] = {key: value for key, value in table["decoding"].items() if key in task.decoding}
    # Probes stand at places that a labeller may not have.
    table["validation"] |= {"beam": 1, "probes": []}
    return Experiment.model_validate(table)
