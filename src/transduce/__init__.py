"""transduce: train, prove, translate and look inside sequence-to-sequence models.

from transduce import Translator
print(Translator.load("runs/demo").translate(["我爱水课"])[0].text)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transduce.errors import ConfigError, DataError, InputError, RunError, TrainingError, TransduceError
    from transduce.experiment import Experiment
    from transduce.recipe import load_experiment, resume, train
    from transduce.translator import Translation, Translator, fill, generate, vectors

__version__ = "0.1.0"

_HOMES = {
    "ConfigError": "errors",
    "DataError": "errors",
    "Experiment": "experiment",
    "InputError": "errors",
    "RunError": "errors",
    "TrainingError": "errors",
    "TransduceError": "errors",
    "Translation": "translator",
    "Translator": "translator",
    "fill": "translator",
    "generate": "translator",
    "load_experiment": "recipe",
    "resume": "recipe",
    "train": "recipe",
    "vectors": "translator",
}

__all__ = [
    "ConfigError",
    "DataError",
    "Experiment",
    "InputError",
    "RunError",
    "TrainingError",
    "TransduceError",
    "Translation",
    "Translator",
    "fill",
    "generate",
    "load_experiment",
    "resume",
    "train",
    "vectors",
]


def __getattr__(name: str) -> Any:
    # Imported when asked for: torch takes two seconds to load, which `transduce --help` shouldn't wait for.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
