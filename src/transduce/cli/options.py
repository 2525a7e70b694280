"""Options that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
