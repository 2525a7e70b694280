"""Verbs that use a run. Each imports what it does when called, so that help answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.options import Device, Run, Threads, Weights


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


def vectors(
    run: Annotated[Path, typer.Option("--run", help="Run folder of an encoder, such as bert (task mask).")],
    text: Annotated[list[str] | None, typer.Argument(help="Texts. Default: standard input.")] = None,
    file: Annotated[Path | None, typer.Option(help="Text file, line by line (.gz and .xz too).")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="NumPy file (.npy): a row of float32 for each text.")
    ] = None,
    pooling: Annotated[
        str, typer.Option(help="mean: of all tokens and both marks; first: what stands at the start mark.")
    ] = "mean",
    normalize: Annotated[
        bool, typer.Option("--normalize", help="To length 1, so that a dot product is a cosine.")
    ] = False,
    batch: Annotated[int, typer.Option(help="Lines read together at most.")] = 256,
    weights: Weights = "auto",
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """A vector for each text: its numbers in columns, a line per line, or a NumPy file.

    transduce vectors "我爱水课" "洪水冲走了那座桥" --run RUN --normalize
    """
    from transduce.commands.vectors import run_vectors

    run_vectors(
        text or [],
        file,
        output,
        run=run,
        pooling=pooling,
        normalize=normalize,
        batch=batch,
        weights=weights,
        device=device,
        threads=threads,
    )


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
