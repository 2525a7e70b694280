"""Which run a command works with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transduce.acceleration.inference import FORMS
from transduce.commands.telling import tell
from transduce.demo.shipped import RUN
from transduce.devices import MOST_THREADS, ComputeConfig
from transduce.errors import ConfigError
from transduce.translator import Translator


def load_translator(
    runs: Sequence[Path], weights: str, device: str, threads: int, quantize: str = "none", *, announce: bool = False
) -> Translator:
    """The named runs (an ensemble, if several), or the demo run if none is named; `announce` says what computes."""
    if weights not in ("auto", "average", "best", "last"):
        raise ConfigError(f"--weights {weights}: expected auto, average, best or last")
    if not runs:
        tell("no --run given, so this is the demo model: it knows only its synthetic text")
        runs = [RUN]
    if device not in ("auto", "cpu", "cuda", "mps"):
        raise ConfigError(f"--device {device}: expected auto, cpu, cuda or mps")
    if not 0 <= threads <= MOST_THREADS:
        raise ConfigError(f"--threads {threads}: expected 0 (all cores) or more, up to {MOST_THREADS:,}")
    compute = ComputeConfig.model_validate({"device": device, "threads": threads})
    if quantize not in FORMS:
        raise ConfigError(f"--quantize {quantize}: expected {' or '.join(FORMS)}")
    translator = Translator.load(*runs, weights=weights, compute=compute, quantize=quantize)
    if announce or quantize != "none":
        tell(f"computing in {translator.arithmetic}")
    return translator
