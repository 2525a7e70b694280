"""The command line: a verb each, imported when it is called, so that help answers at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from transduce.acceleration.threads import wait_passively
from transduce.errors import TransduceError, is_out_of_memory
from transduce.text.vocabulary import readable

app = typer.Typer(
    name="transduce",
    help="The Transformer of *Attention Is All You Need* as a tool: train it on your own pairs of sentences, "
    "prove its score, translate with it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

Run = Annotated[
    list[Path] | None,
    typer.Option("--run", help="Run folder; several make an ensemble. Default: the demo run in the package."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting: --set training.seed=2. May be repeated."),
]
Weights = Annotated[str, typer.Option(help="average, best, last, or auto: the first of them that is there.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Threads = Annotated[int, typer.Option(help="CPU threads; 0 = all cores.")]


@app.command()
def demo(
    run: Annotated[Path | None, typer.Option(help="Where to write the run. Default: runs/demo, or -2, -3 ….")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 1,
) -> None:
    """Train a small zh→en Transformer on the built-in synthetic text (about 3 minutes) and translate 我爱水课."""
    from transduce.commands.demo import run_demo

    raise typer.Exit(run_demo(run, seed))


@app.command()
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


@app.command()
def prepare(
    experiment: Annotated[Path, typer.Argument(help="Experiment file (TOML).")],
    settings: Settings = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report only; write nothing.")] = False,
    cache: Annotated[Path, typer.Option(help="Where encoded text is kept.")] = Path("runs/.cache"),
) -> None:
    """Check an experiment and its text: what each filter removes, lengths, batches, memory; encode it."""
    from transduce.commands.prepare import run_prepare

    run_prepare(experiment, settings or [], cache, dry_run=dry_run)


@app.command()
def translate(
    text: Annotated[list[str] | None, typer.Argument(help="Texts to translate. Default: standard input.")] = None,
    run: Run = None,
    file: Annotated[Path | None, typer.Option(help="Text file to translate, line by line (.gz and .xz too).")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of standard output.")
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Beam width; 1 = greedy.")] = None,
    nbest: Annotated[int, typer.Option(help="Translations per line, as LINE, RANK, SCORE and TEXT in columns.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Put the score before each translation.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="A JSON object per line, with scores and alignment.")] = False,
    length_penalty: Annotated[float | None, typer.Option(help="α; higher favours longer output.")] = None,
    max_extra: Annotated[int | None, typer.Option(help="Tokens by which output may exceed its input.")] = None,
    min_length: Annotated[int | None, typer.Option(help="Tokens that output has at least.")] = None,
    patience: Annotated[
        float | None, typer.Option(help="Stop once this many times the beam's width have ended: 1 is faster.")
    ] = None,
    no_repeat_ngram: Annotated[int | None, typer.Option(help="No n tokens in a row occur twice; 0 = any.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Every translation begins with this text.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Of sampling; below 1 is more careful.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Draw among the k likeliest; 0 = all.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw among the likeliest that sum to p.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of sampling.")] = None,
    without_letters: Annotated[
        str | None, typer.Option(help="Lines without letters: keep them as they are, or translate.")
    ] = None,
    unknown: Annotated[str | None, typer.Option(help="Unknown words: avoid, mark or copy.")] = None,
    batch: Annotated[int, typer.Option(help="Lines translated together at most.")] = 256,
    weights: Weights = "auto",
    device: Device = "auto",
    threads: Threads = 0,
    quantize: Annotated[str, typer.Option(help="none, or int8: faster and approximate (CPU).")] = "none",
    workers: Annotated[
        int, typer.Option(help="Processes of one CPU thread each; 0 = one, or all cores for a long file.")
    ] = 0,
) -> None:
    """Translate texts, a file, or standard input: line for line, as they come."""
    from transduce.commands.translate import Output, run_translate

    options = {
        "beam": beam, "nbest": nbest if nbest != 1 else None, "length_penalty": length_penalty, "max_extra": max_extra,
        "min_length": min_length, "patience": patience, "no_repeat_ngram": no_repeat_ngram, "sample": sample or None,
        "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed, "unknown": unknown,
        "without_letters": without_letters,
    }  # fmt: skip
    run_translate(
        text or [],
        file,
        Output(output, nbest=nbest > 1, scores=scores, jsonl=jsonl),
        runs=run or [],
        options={key: value for key, value in options.items() if value is not None},
        prefix=prefix,
        batch=batch,
        weights=weights,
        device=device,
        threads=threads,
        quantize=quantize,
        workers=workers,
    )


@app.command()
def fill(
    run: Annotated[list[Path], typer.Option("--run", help="Run folder of a model trained on blanks (task mask).")],
    text: Annotated[
        list[str] | None, typer.Argument(help="Texts, [MASK] where a word is missing. Default: standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Text file, line by line (.gz and .xz too).")] = None,
    top_k: Annotated[int, typer.Option(help="Tokens shown for each blank.")] = 5,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="A JSON object per line, with every token.")] = False,
    batch: Annotated[int, typer.Option(help="Lines read together at most.")] = 256,
    weights: Weights = "auto",
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Say what may stand at the blanks of texts: LINE, BLANK, PROBABILITY and TEXT in columns, the likeliest first.

    transduce fill "我爱[MASK]课" --run RUN
    """
    from transduce.commands.fill import run_fill

    run_fill(
        text or [],
        file,
        runs=run,
        top_k=top_k,
        jsonl=jsonl,
        batch=batch,
        weights=weights,
        device=device,
        threads=threads,
    )


@app.command()
def generate(
    run: Annotated[list[Path], typer.Option("--run", help="Run folder of a language model (task generate).")],
    prompt: Annotated[
        list[str] | None, typer.Argument(help="What texts begin with. Default: one text from its beginning.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="File of beginnings, a line each (.gz and .xz too).")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens added at most.")] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw at random instead of taking the likeliest token each time.")
    ] = False,
    temperature: Annotated[float | None, typer.Option(help="Of sampling, which it turns on; below 1: careful.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Draw among the k likeliest; turns sampling on.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw among the likeliest that sum to p; turns it on.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of sampling, which it turns on.")] = None,
    beam: Annotated[int | None, typer.Option(help="Beam width; the text then comes when it is whole.")] = None,
    no_repeat_ngram: Annotated[int | None, typer.Option(help="No n tokens in a row occur twice; 0 = any.")] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="A JSON object per text, when it is whole.")] = False,
    weights: Weights = "auto",
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Go on with texts, shown token by token as they come.

    transduce generate "I love" --run RUN --temperature 0.8
    """
    from transduce.commands.generate import run_generate

    drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    sample = sample or any(value is not None for value in drawing.values())
    options = {**drawing, "sample": sample or None, "max_extra": max_tokens, "beam": beam,
               "no_repeat_ngram": no_repeat_ngram}  # fmt: skip
    run_generate(
        prompt or [],
        file,
        runs=run,
        options={key: value for key, value in options.items() if value is not None},
        jsonl=jsonl,
        weights=weights,
        device=device,
        threads=threads,
    )


@app.command()
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


@app.command()
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
    from transduce.evaluation.scores import ScoringConfig

    options = {key: value for key, value in (("beam", beam), ("length_penalty", length_penalty)) if value is not None}
    asked = ScoringConfig(lowercase=lowercase, tokenized=tokenized) if lowercase or tokenized else None
    run_evaluate(
        test,
        references or [],
        run or [],
        options,
        against=against,
        scoring=asked,
        strict=strict,
        output=output,
        rows=rows,
        jsonl=jsonl,
        weights=weights,
        device=device,
        threads=threads,
    )


@app.command()
def compare(
    data: Annotated[
        Path | None, typer.Option(help="Experiment file (TOML) with text, tokenizer, training. Default: the demo's.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(help="Target tokens to train each model on. Default: 500,000 of the demo's.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes that each model is trained instead.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the runs and the report.")] = Path("runs/compare"),
    only: Annotated[
        list[str] | None, typer.Option(help="Only rnn_search, say, or demonstrations; may be repeated.")
    ] = None,
    settings: Settings = None,
) -> None:
    """Train the models that led to the Transformer, and it, alike; then: what was expected, and what is measured.

    Meant to take a quarter of an hour on two cores. Ctrl-C saves; the same command goes on.
    """
    from transduce.commands.compare import run_compare

    raise typer.Exit(run_compare(data, tokens, minutes, out, only or [], settings or []))


@app.command()
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


@app.command()
def inspect(
    sentence: Annotated[
        str | None, typer.Argument(help="One line of text in the run's source language. Default: one of the run's own.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write instead: attention as .png or .svg, the page as one .html, the numbers as .npz.",
        ),
    ] = None,
    run: Annotated[Path | None, typer.Option(help="Run folder. Default: the demo run in the package.")] = None,
    target: Annotated[str | None, typer.Option(help="Look at this translation instead of the model's own.")] = None,
    layer: Annotated[
        str | None, typer.Option(help="Only this layer's attention, such as decoder.1.cross. Default: all.")
    ] = None,
    head: Annotated[int | None, typer.Option(help="Only this head of --layer, from 0, with its numbers.")] = None,
    by: Annotated[str, typer.Option(help="Rows and columns: pieces, characters or words.")] = "pieces",
    beam: Annotated[int | None, typer.Option(help="Beam width; 1 = greedy.")] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Show the page in a browser.")] = True,
    weights: Weights = "auto",
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Look inside: every number of how a run turns one sentence into another, on a page in your browser.

    The page comes from this machine and needs no network; Ctrl-C ends it. With --out a file is written instead.

    transduce inspect 我爱水课

    transduce inspect 我爱水课 --out page.html
    """
    from transduce.commands.inspect import run_inspect

    run_inspect(
        sentence,
        out,
        runs=[] if run is None else [run],
        target=target,
        layer=layer,
        head=head,
        by=by,
        beam=beam,
        open_browser=open_browser,
        weights=weights,
        device=device,
        threads=threads,
    )


@app.command()
def serve(
    run: Annotated[
        list[Path] | None, typer.Option("--run", help="Run folder; may be repeated. Default: the demo run.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0 = all, which needs an API key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 = any that is free.")] = 8000,
    open_browser: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    api_key_file: Annotated[
        Path | None, typer.Option(help="File of keys, a line each; TRANSDUCE_API_KEY is one too.")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="Requests of one address, such as 60/minute. Default: any.")] = None,
    max_body: Annotated[int | None, typer.Option(help="Bytes of a request. Default: 1,048,576.")] = None,
    max_characters: Annotated[int | None, typer.Option(help="Characters of a text. Default: 10,000.")] = None,
    max_inspected: Annotated[int | None, typer.Option(help="Characters that are looked into. Default: 200.")] = None,
    max_texts: Annotated[int | None, typer.Option(help="Texts of a request. Default: 64.")] = None,
    max_nbest: Annotated[int | None, typer.Option(help="Translations of a text, and its beam. Default: 10.")] = None,
    queue: Annotated[int | None, typer.Option(help="Requests of a run at a time. Default: 128.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds until an answer. Default: 30.")] = None,
    batch: Annotated[int | None, typer.Option(help="Sentences translated together at most. Default: 64.")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name of this server, as a proxy passes it on; may be repeated.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(help="Site whose pages may use it, https://…; may be repeated.")
    ] = None,
    trust_proxy: Annotated[
        list[str] | None, typer.Option(help="Address of a proxy whose X-Forwarded-For is believed; may be repeated.")
    ] = None,
    weights: Weights = "auto",
    device: Device = "auto",
    threads: Annotated[int, typer.Option(help="CPU threads of each run; 0 = its share of the cores.")] = 0,
    quantize: Annotated[str, typer.Option(help="none, or int8: faster and approximate (CPU).")] = "none",
) -> None:
    """Serve runs on this machine: a page to translate with, and an interface that LibreTranslate's clients know.

    Ctrl-C finishes what was begun and ends.
    """
    from transduce.commands.serve import run_serve

    limits = {
        "rate": rate, "body": max_body, "characters": max_characters, "texts": max_texts, "nbest": max_nbest,
        "inspected": max_inspected,
        "queue": queue, "deadline": deadline, "batch": batch, "origins": tuple(allow_origin or ()),
    }  # fmt: skip
    run_serve(
        run or [],
        host=host,
        port=port,
        limits={key: value for key, value in limits.items() if value is not None},
        key_file=api_key_file,
        hosts=allow_host or [],
        proxies=trust_proxy or [],
        page="/",
        open_browser=open_browser,
        weights=weights,
        device=device,
        threads=threads,
        quantize=quantize,
    )


def _version(value: bool) -> None:
    if value:
        from transduce import __version__

        typer.echo(f"transduce {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it and exit.")
    ] = False,
) -> None:
    pass


def _complain(message: str) -> None:
    """One message on standard error, in which a file's own text can move no cursor and ring no bell."""
    typer.echo("transduce: " + "\n".join(map(readable, message.split("\n"))), err=True)


def main() -> None:
    """Run the command line; print our own errors without a traceback."""
    wait_passively()
    # Any locale: output is UTF-8, so that no terminal setting can break a translation.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace", newline="\n")  # type: ignore[union-attr]
    try:
        app()
    except TransduceError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        # A path that leads through a file, a name that is too long: whatever the system has against what was named.
        _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        _complain("out of memory: take fewer lines at once (--batch), shorter ones, a narrower beam or a smaller model")
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("transduce: interrupted", err=True)
        sys.exit(130)
