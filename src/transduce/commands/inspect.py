"""`transduce inspect`: one sentence's way through a model, on a page, as a picture or as all its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args
from urllib.parse import urlencode

import typer

from transduce.commands.loading import load_translator
from transduce.commands.telling import tell
from transduce.demo.shipped import RUN
from transduce.errors import ConfigError
from transduce.inspection.payload import payload
from transduce.inspection.recorder import record
from transduce.inspection.recording import write_whole
from transduce.inspection.tokens import By
from transduce.page import document

_NBEST, _DEADLINE = 64, 600.0
"""Beam and seconds: of one's own machine more may be asked than of a server for others."""


def run_inspect(
    sentence: str | None,
    out: Path | None,
    *,
    runs: Sequence[Path],
    target: str | None,
    layer: str | None,
    head: int | None,
    by: str,
    beam: int | None,
    open_browser: bool,
    weights: str,
    device: str,
    threads: int,
) -> None:
    if by not in get_args(By):
        raise ConfigError(f"--by {by}: expected {', '.join(get_args(By))}")
    typed, wanted = _typed(sentence), _typed(target)
    units = cast(By, by)
    if out is None:
        shown = {"text": typed, "target": wanted, "beam": beam, "place": layer, "head": head, "unit": units}
        _browse(shown, runs, open_browser, weights, device, threads)
        return
    form = _form(out, layer, head)
    if typed is None:
        raise ConfigError(f"--out {out}: of which sentence? Name one before it")
    translator = load_translator(runs, weights, device, threads)
    recording = record(translator, typed, target=wanted, beam=beam)
    if form == ".npz":
        recording.save(out)
    elif form == ".html":
        (folder,) = runs or [RUN]
        made = payload(recording, translator, journal=folder / "journal.jsonl")
        write_whole(out, document([made], recording.title, values={"unit": units}).encode())
    else:
        # matplotlib takes a second to import.
        from transduce.inspection.pictures import draw

        picture = draw(recording, place=layer, head=head, by=units, form="svg" if form == ".svg" else "png")
        write_whole(out, picture)
    typer.echo(recording.translation)
    tell(f"wrote {out}")


def _form(out: Path, layer: str | None, head: int | None) -> str:
    form = out.suffix.lower()
    if form not in (".png", ".svg", ".html", ".npz"):
        raise ConfigError(f"--out {out}: expected a name that ends in .png, .svg, .html or .npz")
    if out.is_dir() or not out.parent.is_dir():
        raise ConfigError(f"--out {out}: expected a file in a folder that is there")
    if form not in (".png", ".svg") and (layer is not None or head is not None):
        raise ConfigError(f"--layer and --head choose what a .png or .svg shows; {out.name} has all of them")
    return form


def _browse(
    shown: dict[str, Any], runs: Sequence[Path], open_browser: bool, weights: str, device: str, threads: int
) -> None:
    """Serve the page to this machine until it is stopped."""
    from transduce.commands.serve import run_serve

    view = "walk" if shown["place"] is None else "attention"
    values = urlencode({name: value for name, value in shown.items() if value is not None})
    beam = shown["beam"] or 0
    run_serve(
        runs,
        host="127.0.0.1",
        port=0,
        limits={"nbest": max(beam, _NBEST), "deadline": _DEADLINE},
        key_file=None,
        hosts=[],
        proxies=[],
        page=f"/#inside/{view}?{values}",
        open_browser=open_browser,
        weights=weights,
        device=device,
        threads=threads,
        quantize="none",
    )


def _typed(text: str | None) -> str | None:
    """An argument as it was typed; in the C locale Python hands each byte beyond ASCII over as a lone surrogate."""
    return None if text is None else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
