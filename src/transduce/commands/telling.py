"""What is said beside the output, on standard error."""

from __future__ import annotations

import typer

from transduce.text.vocabulary import readable


def legible(text: str) -> str:
    """Its lines, in which the name of a file moves no cursor and rings no bell."""
    return "\n".join(map(readable, text.split("\n")))


def tell(message: str) -> None:
    """A message to the person, marked as the program's own."""
    typer.echo(f"transduce: {legible(message)}", err=True)
