"""Verbs that make runs and say how good they are. Each imports what it needs when called: help answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.options import Device, Run, Settings, Threads, Weights


def demo(
    run: Annotated[Path | None, typer.Option(help="Where to write the run. Default: runs/demo, or -2, -3 ….")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 1,
) -> None:
    """Train a small zh→en Transformer on the built-in synthetic text (one to three minutes) and translate 我爱水课."""
    from transduce.commands.demo import run_demo

    raise typer.Exit(run_demo(run, seed))


def train(
    experiment: Annotated[Path | None, typer.Argument(help="Experiment file (TOML).")] = None,
    run: Annotated[Path | None, typer.Option(help="Run folder to make. Default: runs/NAME.")] = None,
    settings: Settings = None,
    resume: Annotated[Path | None, typer.Option(help="Run folder to continue instead.")] = None,
) -> None:
    """Train a model on your own pairs, as an experiment file says. Ctrl-C saves; --resume goes on.

    The least that an experiment needs:

        source_language = "de"

        target_language = "en"

        [data]

        train = [{ source = "train.de", target = "train.en" }]

        valid = { source = "valid.de", target = "valid.en" }
    """
    from transduce.commands.train import run_train

    raise typer.Exit(run_train(experiment, run, settings or [], resume))


def prepare(
    experiment: Annotated[Path, typer.Argument(help="Experiment file (TOML).")],
    settings: Settings = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report only; write nothing.")] = False,
    cache: Annotated[Path, typer.Option(help="Where encoded text is kept.")] = Path("runs/.cache"),
) -> None:
    """Check an experiment and its text: what each filter removes, lengths, batches, memory; encode it."""
    from transduce.commands.prepare import run_prepare

    run_prepare(experiment, settings or [], cache, dry_run=dry_run)


def score(
    source: Annotated[Path, typer.Argument(help="Source text, a sentence a line.")],
    target: Annotated[Path, typer.Argument(help="Its translation, line for line.")],
    run: Run = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="A JSON object per line, with each token.")] = False,
    weights: Weights = "auto",
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Log-probability that a run gives each translation: in total and of each token."""
    from transduce.commands.score import run_score

    run_score(source, target, run or [], jsonl=jsonl, weights=weights, device=device, threads=threads)


def evaluate(
    test: Annotated[Path, typer.Option("--test", help="Source file; the reference files follow as arguments.")],
    references: Annotated[
        list[Path] | None, typer.Argument(help="Reference files, one or more; none for the tasks mask and generate.")
    ] = None,
    run: Run = None,
    beam: Annotated[int | None, typer.Option(help="Beam width; 1 = greedy.")] = None,
    length_penalty: Annotated[float | None, typer.Option(help="α; higher favours longer output.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="Another run, or a file of its translations: paired bootstrap against it.")
    ] = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Score without regard to case (older papers).")
    ] = False,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="Score the tokens as they stand (older papers).")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse text that looks tokenised.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write the translations here.")] = None,
    rows: Annotated[
        Path | None, typer.Option(help="Also write source, references and outputs here, side by side (JSON lines).")
    ] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print the scores as a JSON object.")] = False,
    weights: Weights = "auto",
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """BLEU, chrF and TER of a run on a test set, each with its sacreBLEU signature; or its perplexity on a text.

    transduce evaluate --run RUN --test test.zh test.en
    """
    from transduce.commands.evaluate import run_evaluate

    options = {key: value for key, value in (("beam", beam), ("length_penalty", length_penalty)) if value is not None}
    scoring = {name: True for name, asked in (("lowercase", lowercase), ("tokenized", tokenized)) if asked}
    run_evaluate(
        test,
        references or [],
        run or [],
        options,
        against=against,
        scoring=scoring,
        strict=strict,
        output=output,
        rows=rows,
        jsonl=jsonl,
        weights=weights,
        device=device,
        threads=threads,
    )


def compare(
    data: Annotated[
        Path | None,
        typer.Option(
            help="Experiment file (TOML) with text, tokenizer and training. The size of its own model is that of all. "
            "Default: the demo's."
        ),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(help="Target tokens to train each model on. Default: 1,000,000 of the demo's.")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="Minutes that each model is trained instead. The learning rate then falls by 1/√step."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the runs and the report.")] = Path("runs/compare"),
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this one; may be repeated: fnn_mean, fnn_concat, rnn, lstm, gru, seq2seq, rnn_search, convs2s, "
            "bytenet, transformer, demonstrations."
        ),
    ] = None,
    score: Annotated[
        float | None,
        typer.Option(
            help="BLEU on the validation text to which the time of each is told. Default: half of what the best one "
            "reached."
        ),
    ] = None,
    settings: Settings = None,
) -> None:
    """Train the models that led to the Transformer, and it, alike; then: what was expected, and what is measured.

    Meant to take a quarter of an hour on two cores. Ctrl-C saves; the same command goes on.
    """
    from transduce.commands.compare import run_compare

    raise typer.Exit(run_compare(data, tokens, minutes, out, only or [], score, settings or []))


def ablate(
    experiment: Annotated[Path, typer.Argument(help="Experiment file (TOML) of the base model.")],
    rows: Annotated[str, typer.Option(help="Parts of the table, such as A,C: A, B, C, D, E, big. Default: all.")] = "",
    seeds: Annotated[str, typer.Option(help="Seeds that each row is trained with.")] = "1,2",
    tokens: Annotated[
        int | None, typer.Option(help="Target tokens to train each on. Default: as long as the experiment says.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option(help="Folder of the runs and the report. Default: runs/ablate-NAME.")
    ] = None,
    settings: Settings = None,
) -> None:
    """Train the rows of the paper's Table 3 at the experiment's scale, and set them beside the published ones.

    Rows: heads (A), d_k (B), size (C), dropout and label smoothing (D), learned positions (E), big; base always. Ctrl-C
    saves; the same command goes on.
    """
    from transduce.commands.ablate import run_ablate

    raise typer.Exit(run_ablate(experiment, rows, seeds, tokens, run, settings or []))
