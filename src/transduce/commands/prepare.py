"""`transduce prepare`: what training would meet, before it does."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import typer

from transduce.commands.telling import legible
from transduce.data.batching import Sampler, batch_statistics
from transduce.data.filters import DUPLICATE
from transduce.experiment import Experiment
from transduce.models.outline import count_parameters
from transduce.recipe import learn_tokenizers, load_experiment, prepare_data
from transduce.recipe.text import PROGRESS
from transduce.tasks import TASKS
from transduce.training.memory import PARAMETER_BYTES, bytes_per_place


def run_prepare(path: Path, settings: Sequence[str], cache: Path, *, dry_run: bool) -> None:
    loaded = load_experiment(path, settings)
    experiment = loaded.experiment
    typer.echo(f"preset {loaded.reason}")
    with tempfile.TemporaryDirectory(prefix="transduce-") as scratch:
        kept = Path(scratch) if dry_run else cache
        tokenizers = learn_tokenizers(experiment, kept, tell=_tell)
        data = prepare_data(experiment, tokenizers, kept, enforce=not dry_run, tell=_tell)
        typer.echo(data.report.render())
        task = TASKS[experiment.task]
        if cost := task.cost({name: data.store.lengths(name) for name in task.streams}):
            typer.echo(str(cost))
        sizes = (tokenizers.source.size, tokenizers.target.size)
        typer.echo(f"vocabulary: {sizes[0]:,}" + ("" if tokenizers.joint else f" (source), {sizes[1]:,} (target)"))
        lengths = {name: data.store.lengths(name) for name in task.streams}
        config = experiment.training
        sampler = Sampler(
            lengths,
            weights=data.store.weights([corpus.weight for corpus in experiment.data.train]),
            batch_tokens=config.batch_tokens,
            accumulate=config.accumulate,
            seed=config.seed,
        )
        found = batch_statistics(sampler.epoch_plan(0), lengths)
        for name, tokens in found.tokens_per_update.items():
            typer.echo(f"{name}: {tokens:,.0f} tokens an update, {found.padding[name]:.1%} of its places padding")
        typer.echo(f"updates per epoch: {found.updates:,} of {found.micro_batches:,} passes; "
                   f"{config.max_updates:,} updates are {config.max_updates / found.updates:,.1f} epochs")  # fmt: skip
        if config.accumulate == 1 and found.micro_batches > 1:
            typer.echo(
                "advice: an update is a single pass, whose sentences are all of like length; a training.batch_tokens "
                "of a quarter of training.update_tokens lets each update learn from several lengths"
            )
        typer.echo(memory_estimate(experiment, sizes, int(lengths[task.streams[0]].max()) + 1))
        if dry_run:
            data.report.check(experiment.data.filters.max_dropped, spared=frozenset({DUPLICATE}))
            typer.echo("dry run: nothing was written")
        else:
            typer.echo(legible(f"encoded text: {data.store.folder}"))


def _tell(how_far: str) -> None:
    typer.echo(PROGRESS + how_far, err=True)


def memory_estimate(experiment: Experiment, sizes: tuple[int, int], length: int) -> str:
    """Memory that training will take, as one sentence; `length` is the longest source in tokens.

    Weights, gradients and Adam's two moments take 16 bytes a parameter. A forward pass keeps, for each of
    `batch_tokens` places, what the model's settings say: an estimate.
    """
    parameters = count_parameters(experiment.model, *sizes)
    places = experiment.training.batch_tokens * bytes_per_place(experiment.model, length)
    total = (PARAMETER_BYTES * parameters + places) / 2**20 + 400
    return f"model: {parameters:,} parameters; memory to expect in training: about {total:,.0f} MiB"
