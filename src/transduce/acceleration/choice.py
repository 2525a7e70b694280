"""Log-probabilities over the vocabulary and the best of them, in native code (`choice.c`) on a CPU.

One pass finds the best tokens of a row, where `topk` sorts and does not say which of equal values it takes.
Gain at 10,000 entries, one thread: see docs/performance.md. The plain twins are `torch.log_softmax` and `plain_best`.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.acceleration import native


class LogSoftmax:
    """log_softmax in fp32; what it answers may be changed, and is overwritten by the next call."""

    def __init__(self) -> None:
        self._table = torch.empty(0)

    def __call__(self, logits: Float[Tensor, "n v"]) -> Float[Tensor, "n v"]:
        """Native code writes into the logits themselves."""
        library = native.load_for(logits)
        if library is not None:
            library.log_softmax_rows(logits.data_ptr(), *logits.shape)
            return logits
        # At a large vocabulary, fresh memory for this table costs more than computing it (5x or more).
        rows = logits.shape[0]
        if self._table.shape[0] < rows:
            self._table = torch.empty(logits.shape, dtype=torch.float32, device=logits.device)
        return torch.log_softmax(logits, dim=-1, dtype=torch.float32, out=self._table[:rows])


def best(log_probs: Float[Tensor, "n v"], width: int) -> tuple[Float[np.ndarray, "n w"], Int[np.ndarray, "n w"]]:
    """The `width` (at most v) best tokens of each row, best first, the lower id first among equals.

    A row with NaN begins with it. Tokens at minus infinity are never chosen; where they are all that is left, what
    stands there means nothing.
    """
    rows, vocabulary = log_probs.shape
    width = min(width, vocabulary)
    library = native.load_for(log_probs)
    if library is None:
        return plain_best(log_probs, width)
    values, ids = np.empty((rows, width)), np.empty((rows, width), np.int64)
    library.best_of_rows(log_probs.data_ptr(), rows, vocabulary, width, values.ctypes.data, ids.ctypes.data)
    return values, ids


def plain_best(log_probs: Float[Tensor, "n v"], width: int) -> tuple[Float[np.ndarray, "n w"], Int[np.ndarray, "n w"]]:
    """`topk` does not promise which of equal values it takes. Those inside its choice are put in order here; one more
    than needed shows whether equals were left outside, and only such rows are sorted in full."""
    vocabulary = log_probs.shape[1]
    top, places = log_probs.topk(min(width + 1, vocabulary), dim=1)
    values, ids = top.cpu().numpy().astype(np.float64), places.cpu().numpy()
    if width < vocabulary:
        tied = np.flatnonzero((values[:, width - 1] == values[:, width]) & (values[:, width] > -np.inf))
        values, ids = values[:, :width], ids[:, :width]
        if len(tied):
            rows = log_probs[torch.from_numpy(tied).to(log_probs.device)]
            top, places = rows.sort(dim=1, descending=True, stable=True)
            values[tied], ids[tied] = top[:, :width].cpu().numpy(), places[:, :width].cpu().numpy()
    # NaN is greatest to `topk` and last to `lexsort`.
    wrong = np.isnan(values).any(1)
    order = np.lexsort((ids, -values), axis=1)
    values = np.take_along_axis(values, order, 1)
    values[wrong, 0] = np.nan
    return values, np.take_along_axis(ids, order, 1)
