"""Where the demo's experiment and the run that ships are."""

from __future__ import annotations

from pathlib import Path

EXPERIMENT = Path(__file__).with_name("experiment.toml")
"""The experiment that `transduce demo` trains."""

RUN = Path(__file__).with_name("run")
"""A run of it, trained by exactly that command."""
