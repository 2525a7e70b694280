"""Python environments for the peers, made once and kept: each has what one peer needs, and all share one PyTorch."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "transduce" / "bench"
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
"""What keeps libraries from fetching anything while they are measured."""
PATIENCE = 1800
"""Seconds that an installation may take."""


class AbsentError(Exception):
    """A peer that cannot be had here, and why."""


@dataclass(frozen=True)
class Environment:
    """What pip installs for a peer."""

    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()
    """Installed without what they ask for: their upper bounds on PyTorch are older than they need be, and most of the
    rest is for other uses than training. What they do need stands in `packages`."""
    on_torch: bool = True
    """Whether the shared PyTorch is in it."""


TORCH = "torch"
ENVIRONMENTS = {
    TORCH: Environment((f"torch=={version('torch').split('+')[0]}", "numpy"), on_torch=False),
    "huggingface": Environment(("transformers==5.24.0",)),
    "ctranslate2": Environment(("ctranslate2==4.8.5", "numpy"), on_torch=False),
    "joeynmt": Environment(
        ("sacrebleu", "sacremoses", "sentencepiece==0.2.0", "subword-nmt", "matplotlib", "seaborn", "pyyaml", "six",
         "packaging", "importlib_metadata", "pandas", "datasets", "tensorboard", "setuptools<81"),
        ("joeynmt==2.3.0",),
    ),
    "fairseq": Environment(
        ("omegaconf==2.3.0", "hydra-core==1.3.2", "regex", "sacrebleu", "bitarray", "tqdm", "cython", "scikit-learn"),
        ("fairseq-fixed==0.12.3.1",),
    ),
    "opennmt": Environment(
        ("configargparse", "pyyaml", "sacrebleu", "six", "tensorboard", "rapidfuzz", "pyahocorasick", "pyonmttok",
         "ctranslate2==4.8.5"),
        ("OpenNMT-py==3.5.1",),
    ),
    "eole": Environment(
        ("configargparse", "pyyaml", "sacrebleu", "six", "rapidfuzz", "pyahocorasick", "pyonmttok", "rich", "pydantic",
         "safetensors", "torch-optimi", "subword-nmt", "sentencepiece", "tokenizers", "tensorboard", "huggingface_hub"),
        ("eole==0.6.4",),
    ),
    "sockeye": Environment(("pyyaml", "sacrebleu"), ("sockeye==3.1.34",)),
}  # fmt: skip


def python(name: str, folder: Path, options: list[str]) -> Path:
    """The interpreter of an environment, which is made if it is not there. Raises AbsentError with pip's own reason.

    `options` are more words for pip, such as where to take another build of PyTorch from.
    """
    wanted = ENVIRONMENTS[name]
    home = folder / "environments" / name
    interpreter = home / "bin" / "python"
    stamp = home / ".installed"
    key = hashlib.sha256(repr((wanted, sys.version)).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == key:
        return interpreter
    shared = python(TORCH, folder, options) if wanted.on_torch else None
    print(f"bench: installing {name}: {', '.join((*wanted.alone, *wanted.packages))}", file=sys.stderr)
    venv.create(home, with_pip=True, clear=True)
    if shared is not None:
        packages = next(shared.parents[1].glob("lib/python*/site-packages"))
        own = next(home.glob("lib/python*/site-packages"))
        (own / "torch.pth").write_text(f"{packages}\n", encoding="utf-8")
    _pip(interpreter, [*options, *wanted.packages])
    if wanted.alone:
        _pip(interpreter, [*options, "--no-deps", *wanted.alone])
    stamp.write_text(key, encoding="utf-8")
    return interpreter


def _pip(interpreter: Path, words: list[str]) -> None:
    command = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise AbsentError(f"not installed within {PATIENCE} seconds") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        lines = [line for line in said if line.startswith("ERROR: ") and line != "ERROR: Exception:"] or said
        raise AbsentError(f"pip could not install it: {lines[-1][:300] if lines else done.returncode}")
