"""What the machine can do: matrix products at the shapes that training has, and reading memory.

Products are PyTorch's, and those of our native code where it takes their place in training; the faster count.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from bench.peers.protocol import Json, Link, run
from transduce.acceleration.allocator import keep_freed_memory
from transduce.acceleration.products import native_products
from transduce.devices import ComputeConfig, resolve

READ_BYTES = 1 << 28
"""More than any cache holds."""


def serve(job: Json, link: Link) -> None:
    device = job["device"]
    keep_freed_memory()  # else much of the time would be that of the system, which clears pages
    compute = resolve(ComputeConfig(device=device, precision=job["precision"], threads=job["threads"]))
    dtype = torch.bfloat16 if job["precision"] == "bf16" else torch.float32
    sizes, rows = job["sizes"], job["rows"]
    d, ff, layers = sizes["d_model"], sizes["d_ff"], sizes["encoder_layers"] + sizes["decoder_layers"]
    # Inputs, outputs, how often in a forward pass: attention's three and its last, feed-forward's two, the vocabulary.
    shapes = [(d, 3 * d, layers), (d, d, layers), (d, ff, layers), (ff, d, layers), (d, job["vocabulary"], 1)]
    tensors = [
        (torch.randn(rows, i, device=device, dtype=dtype), torch.randn(i, o, device=device, dtype=dtype), often)
        for i, o, often in shapes
    ]
    memory = torch.ones(job.get("read_bytes", READ_BYTES) // 4, device=device)
    work = sum(2 * rows * i * o * often for i, o, often in shapes)
    link.write(ready=True, version=torch.__version__, torch=torch.__version__)
    for request in link.requests():
        library = _gflops(tensors, work, request["seconds"] / 3, device)
        with native_products(compute):
            ours = _gflops(tensors, work, request["seconds"] / 3, device)
        begun, times = _clock(device), 0
        while not times or _clock(device) - begun < request["seconds"] / 3:
            memory.sum()
            times += 1
        link.write(
            gflops=max(library, ours),
            library=library,
            gigabytes=times * 4 * len(memory) / (_clock(device) - begun) / 1e9,
        )


def _gflops(tensors: Sequence[tuple[Tensor, Tensor, int]], work: int, seconds: float, device: str) -> float:
    begun, products = _clock(device), 0
    while not products or _clock(device) - begun < seconds:
        for x, weights, often in tensors:
            for _ in range(often):
                x @ weights
        products += 1
    return products * work / (_clock(device) - begun) / 1e9


def _clock(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    run(serve)
