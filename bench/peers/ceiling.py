"""What the machine can do: matrix products at the shapes that training has, and reading memory."""

from __future__ import annotations

import time

import torch

from bench.peers.protocol import Json, Link, run

READ_BYTES = 1 << 28
"""More than any cache holds."""


def serve(job: Json, link: Link) -> None:
    torch.set_num_threads(job["threads"])
    device = job["device"]
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
        products, times = 0, 0
        begun = _clock(device)
        while not products or _clock(device) - begun < request["seconds"] / 2:
            for x, weights, often in tensors:
                for _ in range(often):
                    x @ weights
            products += 1
        halfway = _clock(device)
        while not times or _clock(device) - halfway < request["seconds"] / 2:
            memory.sum()
            times += 1
        link.write(
            gflops=products * work / (halfway - begun) / 1e9,
            gigabytes=times * 4 * len(memory) / (_clock(device) - halfway) / 1e9,
        )


def _clock(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    run(serve)
