"""Named places in the forward pass where a recorder may look or intervene.

    weights = tap("decoder.1.cross.weights", weights)

Without a recorder `tap` returns its tensor and costs one attribute look-up. A recorder is any
function `(name, tensor) -> tensor`; what it returns takes the tensor's place, so a recorder can also
switch a head off. Layers ask `recording()` where a fused kernel would hide the tensors of an
equation, and then compute the equation as the paper writes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

from torch import Tensor

Recorder = Callable[[str, Tensor], Tensor]

# Not a contextvar: those break torch.compile(fullgraph=True), a threading.local does not.
_local = threading.local()


def tap(name: str, value: Tensor) -> Tensor:
    """Show `value` to the recorder of this thread, if there is one, and return what it answers."""
    recorder = getattr(_local, "recorder", None)
    return value if recorder is None else cast(Tensor, recorder(name, value))


def recording() -> bool:
    """Whether a recorder listens in this thread."""
    return getattr(_local, "recorder", None) is not None


@contextmanager
def record(recorder: Recorder) -> Iterator[None]:
    """Let `recorder` see every tap of this thread within the block. Blocks may be nested; the inner one hears."""
    before = getattr(_local, "recorder", None)
    _local.recorder = recorder
    try:
        yield
    finally:
        _local.recorder = before
