"""A function of fixed buffers, recorded once as a CUDA graph and replayed as one launch.

A decoding step is some thirty small kernels a layer. With few rows a GPU computes each in less time than it takes to
launch it; a graph launches all of them at once. Replayed, it reads and writes the very memory that it was recorded
with, so whatever changes from step to step has to be copied there. Elsewhere the function is simply called.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

WARM_UP = 2
"""Calls before the recording: libraries choose and set up their kernels in the first ones."""


def replayable(function: Callable[[], Tensor], device: torch.device) -> Callable[[], Tensor]:
    """The function, recorded where the device is CUDA's. It must do the same work on the same memory each time; what it
    returns is overwritten by the next call."""
    if device.type != "cuda":
        return function
    # Casts that autocast keeps would be of this graph's memory, and be used outside of it.
    keeps = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        aside, current = torch.cuda.Stream(device), torch.cuda.current_stream(device)
        aside.wait_stream(current)
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                function()
        current.wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        # Other threads, a server's for one, may go on with theirs meanwhile.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            made = function()
    finally:
        torch.set_autocast_cache_enabled(keeps)

    def replay() -> Tensor:
        graph.replay()
        return made

    return replay
