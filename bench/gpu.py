"""`python -m bench gpu`: training and translation on a GPU against `nn.Transformer` and Hugging Face, unattended.

bf16 and fused attention for everyone; our decoding steps are CUDA graphs (`--before` shows what an earlier version
does without). It takes under 8 minutes: rounds that would begin later are left out. Hugging Face is taken from this
Python where it has it, so that nothing needs to be installed. Without a GPU it runs on the CPU, which is to test it:
ask for `--model toy` then.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path

import torch

from bench import training, translation
from bench.material import SIZES
from bench.report import Report


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=sorted(SIZES), default="base")
    parser.add_argument("--minutes", type=float, default=7, help="after which no further round begins")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6, help="length of a turn of ours in training")
    parser.add_argument("--batch-tokens", type=int, default=16_384, help="padded tokens of a pass, on either side")
    parser.add_argument("--passes", type=int, default=1, help="passes that make an update")
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--sentences", type=int, default=1024)
    parser.add_argument("--by-heart", type=int, default=256, help="different sentences that the model learns")
    parser.add_argument("--epochs", type=int, default=100, help="times that it sees them")
    parser.add_argument("--one-at-a-time", type=int, default=32, help="sentences of a turn in that mode; 0 = leave out")
    parser.add_argument("--beams", type=int, nargs="*", default=[4, 1])
    parser.add_argument("--only", nargs="*", default=["ours", "nn.", "Hugging"], help="contenders by name")
    parser.set_defaults(run=None, text=None, same_allocator=False, processor_time=False, patience=0)


def measure(given: argparse.Namespace, folder: Path, report: Report) -> None:
    begun = time.monotonic()
    has_gpu = torch.cuda.is_available()
    given.device, given.precision = ("cuda", "bf16") if has_gpu else ("cpu", "fp32")
    given.threads = 1 if has_gpu else given.threads
    given.here = given.here or importlib.util.find_spec("transformers") is not None
    if not has_gpu:
        report.say("There is no GPU here: this is a test on the CPU.")
    # Half of the time for each, so that both are there in the end.
    given.deadline = begun + 30 * given.minutes
    training.measure(given, _made(folder / "training"), report)
    given.deadline = begun + 60 * given.minutes
    translation.measure(given, _made(folder / "translation"), report)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
