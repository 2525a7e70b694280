"""`transduce inspect`: one sentence's way through a model, as a picture, a report or all its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

import typer

from transduce.commands.loading import load_translator
from transduce.errors import ConfigError
from transduce.inspection.recorder import record
from transduce.inspection.recording import write_whole
from transduce.inspection.report import page
from transduce.inspection.tokens import By


def run_inspect(
    sentence: str,
    out: Path,
    *,
    runs: Sequence[Path],
    target: str | None,
    layer: str | None,
    head: int | None,
    by: str,
    beam: int | None,
    weights: str,
    device: str,
    threads: int,
) -> None:
    form = out.suffix.lower()
    if form not in (".png", ".svg", ".html", ".npz"):
        raise ConfigError(f"--out {out}: expected a name that ends in .png, .svg, .html or .npz")
    if out.is_dir() or not out.parent.is_dir():
        raise ConfigError(f"--out {out}: expected a file in a folder that is there")
    if by not in get_args(By):
        raise ConfigError(f"--by {by}: expected {', '.join(get_args(By))}")
    if form not in (".png", ".svg") and (layer is not None or head is not None):
        raise ConfigError(f"--layer and --head choose what a .png or .svg shows; {out.name} has all of them")
    translator = load_translator(runs, weights, device, threads)
    recording = record(translator, _typed(sentence), target=None if target is None else _typed(target), beam=beam)
    units = cast(By, by)
    if form == ".npz":
        recording.save(out)
    elif form == ".html":
        write_whole(out, page(recording, by=units).encode())
    else:
        # matplotlib takes a second to import.
        from transduce.inspection.pictures import draw

        picture = draw(recording, place=layer, head=head, by=units, form="svg" if form == ".svg" else "png")
        write_whole(out, picture)
    typer.echo(recording.translation)
    typer.echo(f"transduce: wrote {out}", err=True)


def _typed(text: str) -> str:
    """An argument as it was typed; in the C locale Python hands each byte beyond ASCII over as a lone surrogate."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
