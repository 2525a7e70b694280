"""What reports say of an experiment and of the machine that trained it."""

from __future__ import annotations

from transduce.devices import hardware
from transduce.experiment import Experiment


def named(experiment: Experiment) -> str:
    """`name`, with its languages if it has any."""
    languages = " → ".join(filter(None, (experiment.source_language, experiment.target_language)))
    return f"“{experiment.name}”, {languages}" if languages else f"“{experiment.name}”"


def machine() -> str:
    """This machine, in a line."""
    found = hardware()
    return f"{found['processor']}, {found['cores']} cores, accelerator {found['accelerator']}, torch {found['torch']}"
