"""Out of memory: which batch it was, and which setting to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from transduce.data.store import Store
from transduce.errors import TrainingError

_SIGNS = ("out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED")
"""What allocators write into a plain RuntimeError: MPS, PyTorch's on the CPU (Linux, elsewhere), cuBLAS."""


@contextmanager
def out_of_memory_told(store: Store, examples: np.ndarray, batch_tokens: int) -> Iterator[None]:
    """Raise TrainingError for memory that a pass over these examples did not get; let other errors through."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and not any(sign in str(error) for sign in _SIGNS):
            raise
        sizes = {name: int(store.lengths(name)[examples].max()) + 1 for name in store.streams}
        sides = ", ".join(f"{name} {len(examples)} × {size} tokens" for name, size in sizes.items())
        lines = ", ".join(str(store.line(int(i))) for i in examples[:5])
        raise TrainingError(
            f"out of memory in a batch of {sides} (lines {lines}{', …' if len(examples) > 5 else ''} of the training "
            f"text); start again with a lower training.batch_tokens than {batch_tokens:,}: with training.update_tokens "
            "as it is, more and smaller passes add up to the same update. data.filters.max_length bounds single rows"
        ) from None
