"""Where a training run stands: saved with each checkpoint, so that it goes on as if never interrupted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from transduce.config import shown
from transduce.errors import RunError

_LARGEST = 2**100
"""No count and no sum of a run comes near it: 10^30 floating-point operations."""


@dataclass(slots=True)
class TrainingState:
    """No random state is among it: whatever is random is seeded by (seed, epoch) or (seed, update, batch)."""

    update: int = 0
    """Updates made."""
    epoch: int = 0
    index: int = 0
    """The next update is number `index` of `epoch`."""
    source_tokens: int = 0
    target_tokens: int = 0
    """Tokens learned from, end marks included, padding not."""
    flops: float = 0.0
    flops_per_token: float = 0.0
    """Floating-point operations so far, and per padded token as measured on the first batch."""
    seconds: float = 0.0
    """Time spent in updates and validations; how long each validation took, the journal has."""
    best: float = -math.inf
    """The best validation so far, in the sense of `training.best_by`, and the update it was made at."""
    best_update: int = 0
    stale: int = 0
    """Validations in a row without an improvement."""
    journal_bytes: int = 0
    """Size of the journal at this moment."""
    regular: bool = True
    """Whether an unbroken run would have saved here too: only such checkpoints enter the average."""
    finished: str = ""
    """Why training ended; empty while it has not."""

    def judge(self, goodness: float, min_change: float) -> bool:
        """Count one validation; return whether it is the best so far by more than `min_change`."""
        if goodness > self.best + min_change:
            self.best, self.best_update, self.stale = goodness, self.update, 0
            return True
        self.stale += 1
        return False

    def to_json(self) -> dict[str, Any]:
        values = asdict(self)
        # JSON has no infinity: before the first validation there is no best.
        values["best"] = None if math.isinf(self.best) else self.best
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any], where: str) -> TrainingState:
        names = {f.name for f in fields(cls)}
        if set(values) != names:
            raise RunError(f"{where}: state.json has other fields than this version of transduce writes")
        fresh = cls()
        for name, value in values.items():
            lowest = -_LARGEST if name == "best" else 0
            if not (name == "best" and value is None) and not _is_like(value, getattr(fresh, name), lowest):
                raise RunError(f"{where}: state.json has {name} = {shown(value)}, which no training comes to")
        return cls(**{**values, "best": -math.inf if values["best"] is None else values["best"]})


def _is_like(value: Any, example: bool | int | float | str, lowest: int) -> bool:
    """Whether a value has the type of another, and is in its bounds if it is a number."""
    if isinstance(example, bool | str):
        return type(value) is type(example)
    number = type(value) is int or (type(value) is float and isinstance(example, float))
    return number and lowest <= value <= _LARGEST
