"""Sizes and recipes by amount of text. A preset fills in what the experiment leaves out."""

from __future__ import annotations

from typing import Any, Literal

from transduce.models import DEFAULT, kinds_with, sized_by_presets
from transduce.tasks import TASKS, Task

PresetName = Literal["tiny", "small", "base", "big"]

PRESETS: dict[PresetName, dict[str, Any]] = {
    # The sizes that reached 41 BLEU on the 29,000 pairs of Multi30k: little text asks for few weights
    # and much dropout. The peak learning rate suits the small width; clipping guards the high rate. Four
    # passes make an update, so that it learns from sentences of several lengths (docs/log.md).
    "tiny": {
        "tokenizer": {"vocabulary": 8000, "if_too_large": "shrink"},
        "model": {
            "encoder_layers": 4, "decoder_layers": 4, "d_model": 128, "d_ff": 256, "heads": 4, "dropout": 0.3,
        },
        "training": {
            "batch_tokens": 1024, "update_tokens": 4096, "learning_rate": 5e-3, "warmup": 2000,
            "max_updates": 12_000, "validate_every": 500, "save_every": 500, "average": 10, "patience": 10,
            "clip_norm": 25.0,
        },
    },
    "small": {
        "tokenizer": {"vocabulary": 16000, "if_too_large": "shrink"},
        "model": {
            "encoder_layers": 3, "decoder_layers": 3, "d_model": 256, "d_ff": 1024, "heads": 4, "dropout": 0.2,
        },
        "training": {
            "batch_tokens": 2048, "update_tokens": 8192, "learning_rate": 2e-3, "warmup": 2000,
            "max_updates": 50_000, "validate_every": 1000, "save_every": 1000, "average": 10, "patience": 10,
            "clip_norm": 5.0,
        },
    },
    # The paper's two models (Table 3); everything else of them is the default of the settings.
    "base": {"tokenizer": {"vocabulary": 37000, "if_too_large": "shrink"}},
    "big": {
        "tokenizer": {"vocabulary": 37000, "if_too_large": "shrink"},
        "model": {"d_model": 1024, "d_ff": 4096, "heads": 16, "dropout": 0.3},
        "training": {"max_updates": 300_000, "average": 20},
    },
}  # fmt: skip


def choose(pairs: int) -> tuple[PresetName, str]:
    """The preset for a number of training pairs, and the reason in words. `big` is never chosen unasked."""
    if pairs < 100_000:
        return "tiny", f"{pairs:,} training pairs are under 100,000: few weights and much dropout learn more from them"
    if pairs < 1_000_000:
        return "small", f"{pairs:,} training pairs are under 1,000,000: more than `tiny` can hold, too few for `base`"
    return "base", f"{pairs:,} training pairs are enough for the paper's base model"


def fill_in(name: Any, values: dict[str, Any]) -> dict[str, Any]:
    """`values` laid on what their task asks for, and that on the preset (on nothing, if there is none of that name).

    A model that the presets' sizes are not for keeps its own defaults for what is left out.
    """
    preset = PRESETS[name] if isinstance(name, str) and name in PRESETS else {}
    values = merge(own_settings(_task(values)), values)
    kind = _kind(values)
    if sized_by_presets(kind):
        return merge(merge({"model": {"kind": kind}}, preset), values)
    return merge({table: rest for table, rest in preset.items() if table != "model"}, values)


def own_settings(task: Task[Any] | None) -> dict[str, Any]:
    """What a task needs and has other defaults for, table by table."""
    settings: dict[str, Any] = {}
    if task is not None:
        settings = merge(settings, dict(task.defaults))
        for place, value in task.requires.items():
            table, key = place.split(".")
            settings = merge(settings, {table: {key: value}})
    return settings


def _task(values: dict[str, Any]) -> Task[Any] | None:
    """The task that is named, or else what the model can do; None where neither makes sense."""
    name, kind = values.get("task"), _kind(values)
    if name is not None:
        return TASKS.get(name) if isinstance(name, str) else None
    return next((task for task in TASKS.values() if kind in kinds_with(task.needs)), None)


def _kind(values: dict[str, Any]) -> Any:
    """Of the table `model`; None where there is something else in its place."""
    model = values.get("model", {})
    return model.get("kind", DEFAULT().kind) if isinstance(model, dict) else None


def merge(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`over` laid on `under`, table by table."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result
