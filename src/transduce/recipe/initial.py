"""A run that goes on from the weights of another."""

from __future__ import annotations

from pathlib import Path

import torch

from transduce.errors import ConfigError
from transduce.models.contract import Model
from transduce.run_folder import RunFolder

PROJECTION = "projection"
"""What may be of another shape: a new task has another vocabulary to tell."""


@torch.no_grad()
def start_from(model: Model, run: Path) -> str:
    """Put the weights of a run (its average, if it has one) into a model; returns in words what became of them.

    Weights that only the model has stay as they are, and so does a projection to another vocabulary. Raises
    ConfigError, and changes nothing, where the run has any other weight that the model lacks.
    """
    before, own = RunFolder.open(run).model(), dict(model.named_parameters())
    # By all its names: a matrix that is tied there may have several places here.
    stored = dict(before.named_parameters(remove_duplicate=False))
    fitting = {name for name in stored.keys() & own.keys() if stored[name].shape == own[name].shape}
    used = {id(stored[name]) for name in fitting}
    if misfits := [name for name, weight in before.named_parameters() if id(weight) not in used and name != PROJECTION]:
        more = f" and {len(misfits) - 1} more" if len(misfits) > 1 else ""
        raise ConfigError(
            f"initial = {run}: its weight {misfits[0]}{more} is none of this model, or of another shape: leave [model] "
            "out, so that the sizes are that run's"
        )
    for name in fitting:
        own[name].copy_(stored[name])
    fresh = sorted(own.keys() - fitting)
    return f"weights from {run}" + (f"; what starts afresh: {', '.join(fresh)}" if fresh else "")
