"""From an experiment to a finished run: joins data, tokenizers, model and loop."""

from transduce.recipe.recipe import CACHE, Announcement, Outcome, Watcher, build_model, exit_code, resume, train
from transduce.recipe.results import TestResult
from transduce.recipe.text import BUILTINS, learn_tokenizers, load_experiment, prepare_data

__all__ = [
    "BUILTINS",
    "CACHE",
    "Announcement",
    "Outcome",
    "TestResult",
    "Watcher",
    "build_model",
    "exit_code",
    "learn_tokenizers",
    "load_experiment",
    "prepare_data",
    "resume",
    "train",
]
