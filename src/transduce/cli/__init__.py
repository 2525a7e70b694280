"""The command line: its verbs, and errors in words."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from transduce.acceleration.threads import wait_passively
from transduce.cli.training import ablate, compare, demo, evaluate, prepare, score, train
from transduce.cli.using import fill, generate, inspect, serve, translate, vectors
from transduce.commands.telling import tell
from transduce.errors import TransduceError, is_out_of_memory

app = typer.Typer(
    name="transduce",
    help="The Transformer of *Attention Is All You Need* as a tool: train it on your own pairs of sentences, "
    "prove its score, translate with it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

for _verb in (
    demo, train, prepare, translate, fill, vectors, generate, score, evaluate, compare, ablate, inspect, serve,
):  # fmt: skip
    app.command()(_verb)


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


def main() -> None:
    """Run the command line; print our own errors without a traceback."""
    wait_passively()
    # Any locale: output is UTF-8, so that no terminal setting can break a translation.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace", newline="\n")  # type: ignore[union-attr]
    try:
        app()
    except TransduceError as error:
        tell(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        # A path that leads through a file, a name that is too long: whatever the system has against what was named.
        tell(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        tell("out of memory: take fewer lines at once (--batch), shorter ones, a narrower beam or a smaller model")
        sys.exit(1)
