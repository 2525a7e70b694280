"""A Transformer's encoder in native code (`transformer.c`), from tokens to states.

For one sentence the plain encoder is mostly the starting of small operations, as in decoding; for many, padding is left
out here, and each processor core takes sentences of its own. The plain twin is the model's own `encode`.
"""

from __future__ import annotations

import ctypes

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.acceleration.side_by_side import in_parts, threads_worth
from transduce.acceleration.structures import ROWS_OF_A_THREAD, Arranged, Form, StackParts


class _Text(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("tokens", "places", "starts", "lengths", "positions"))


class NativeEncoder:
    """Reads sentences."""

    def __init__(self, parts: StackParts, form: Form) -> None:
        self._arranged = Arranged(parts, form)

    def __call__(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b s d"]:
        """States; 0 at padding."""
        arranged, (sentences, longest) = self._arranged, source.shape
        lengths = lengths.to(torch.int64)
        ends = lengths.cumsum(0)
        by_row = lengths.repeat_interleave(lengths)
        starts = (ends - lengths).repeat_interleave(lengths)
        rows = len(by_row)
        places = torch.arange(rows) - starts
        padded = places + torch.arange(sentences).repeat_interleave(lengths) * longest
        tokens = source.reshape(-1)[padded]
        states = torch.empty(rows, arranged.width)
        kept = (tokens, places, starts, by_row, arranged.positions(longest))
        text = _Text(*(tensor.data_ptr() for tensor in kept))
        at = ctypes.addressof(arranged.stack), ctypes.addressof(text)

        def part(first: int, last: int) -> int:
            return arranged.library.encoder_run(*at, first, last, states.data_ptr())

        threads = threads_worth(rows // ROWS_OF_A_THREAD)
        # Cut where a sentence ends.
        cuts = {int(ends[(ends >= rows * i // threads).nonzero()[0, 0]]) for i in range(1, threads)} if rows else set()
        in_parts(part, sorted({0, rows} | cuts) if rows else [0, 0])
        shape = sentences, longest, arranged.width
        if rows == sentences * longest:
            return states.view(shape)
        return states.new_zeros(sentences * longest, arranged.width).index_copy_(0, padded, states).view(shape)
