"""Write docs/experiments.md, the reference of the experiment file, from the settings' own docstrings.

    .venv/bin/python docs/build_reference.py

Run it after a change of a setting; a test compares the file with what this makes.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from transduce.experiment import Experiment
from transduce.experiment.presets import PRESETS

REFERENCE = Path(__file__).with_name("experiments.md")

INTRODUCTION = """\
# The experiment file

<!-- Made by docs/build_reference.py from the docstrings of the settings: change those, then run it. -->

An experiment is a TOML file that holds everything that decides a run. Train it with `transduce train FILE`;
check it first with `transduce prepare FILE --dry-run`. The least that it needs:

```toml
source_language = "de"
target_language = "en"

[data]
train = [{ source = "train.de", target = "train.en" }]
valid = { source = "valid.de", target = "valid.en" }
```

- A key that is not listed here is an error, which names the nearest key that is.
- Keys of the top level stand before the first table, as TOML has it.
- Paths are relative to the file that holds them.
- `--set TABLE.KEY=VALUE` on the command line goes over the file: `--set training.seed=2`.
- What the file leaves out is filled in by the [preset](#presets), and then by the defaults below.
- The run folder keeps the whole experiment, defaults included, in its `experiment.toml`.
- “3.2” and the like are sections of *Attention Is All You Need*; “article” is the walk-through that
  [paper.md](paper.md) names.
"""

PRESETS_TEXT = """\
## Presets

A preset gives the values of this table to keys that the file leaves out. Unless `preset` names one, it is chosen by
the number of training pairs: `tiny` below 100,000, `small` below 1,000,000, else `base`. `big` must be named. `base`
and `big` are the paper's models (Table 3). The values of `model` are for the Transformer: another `model.kind` keeps
its own defaults, which are those of its paper. The program prints which preset it took, and why. A dash means: the
default above.
"""


def build() -> str:
    """The whole text of docs/experiments.md."""
    parts = [INTRODUCTION]
    for title, model in _tables(Experiment, ()):
        parts.append(f"## {title}\n\n{_cell(model.__doc__ or '')}\n\n{_rows(model)}")
    parts.append(f"{PRESETS_TEXT}\n{_preset_rows()}")
    return "\n".join(parts)


def _tables(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Every table of the file in order, each with a heading that shows how TOML spells it."""
    yield (f"`[{'.'.join(path)}]`" if path else "Top level"), model
    places: dict[type[BaseModel], list[str]] = {}
    for name, field in model.model_fields.items():
        for inner in _models(field.annotation):
            header = _header((*path, name), field.annotation)
            if isinstance(key := field.discriminator, str):
                header += f'` with `{key} = "{inner.model_fields[key].default}"'
            places.setdefault(inner, []).append(header)
    for inner, headers in places.items():
        if len(headers) == 1 and re.fullmatch(r"\[[^\[\]]*\]", headers[0]):
            yield from _tables(inner, tuple(headers[0].strip("[]").split(".")))
        else:
            yield ", ".join(f"`{header}`" for header in headers), inner


def _header(path: tuple[str, ...], annotation: Any) -> str:
    """`[a.b]`, `[[a.b]]` for a list of tables, `[a.b.NAME]` for tables by name."""
    name = ".".join(path)
    origin = get_origin(annotation)
    if origin is dict:
        return f"[{name}.NAME]"
    return f"[[{name}]]" if origin in (tuple, list) else f"[{name}]"


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]


def _rows(model: type[BaseModel]) -> str:
    lines = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in model.model_fields.items():
        cells = (f"`{name}`", _type(field), _default(field), _meaning(field))
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _meaning(field: FieldInfo) -> str:
    if field.description:
        # The default has a column of its own.
        return re.sub(r"\s+Default \S+\.$", "", field.description)
    models = _models(field.annotation)
    return f"{models[0].__doc__}" if models else "What this table describes; may be left out."


def _type(field: FieldInfo) -> str:
    bounds = [bound for bound in map(_bound, field.metadata) if bound]
    return ", ".join([_type_name(field.annotation), *bounds])


def _type_name(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{json.dumps(value)}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type_name(argument) for argument in arguments if argument is not type(None)))
    if origin in (tuple, list):
        return f"list of {_type_name(arguments[0])}s"
    if origin is dict:
        return "tables by name"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    return {int: "integer", float: "number", bool: "true or false", str: "text", Path: "path"}[annotation]


def _bound(constraint: Any) -> str:
    signs = ((annotated_types.Ge, "≥", "ge"), (annotated_types.Gt, ">", "gt"))
    signs += ((annotated_types.Le, "≤", "le"), (annotated_types.Lt, "<", "lt"))
    for kind, sign, name in signs:
        if isinstance(constraint, kind):
            value = getattr(constraint, name)
            return f"{sign} {value:,}" if isinstance(value, int) else f"{sign} {value:g}"
    if isinstance(constraint, annotated_types.MultipleOf):
        return f"a multiple of {constraint.multiple_of}"
    if isinstance(constraint, annotated_types.MinLen):
        return f"at least {constraint.min_length}"
    return "finite" if getattr(constraint, "allow_inf_nan", None) is False else ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "as below"
    if value is None or _models(field.annotation):
        return "none"
    return f"`{value:g}`" if isinstance(value, float) else f"`{json.dumps(value)}`"


def _preset_rows() -> str:
    keys = list(dict.fromkeys(f"{t}.{k}" for p in PRESETS.values() for t, values in p.items() for k in values))
    lines = ["| key | " + " | ".join(f"`{name}`" for name in PRESETS) + " |", "| --- " * (len(PRESETS) + 1) + "|"]
    for key in keys:
        table, name = key.split(".")
        values = [preset.get(table, {}).get(name) for preset in PRESETS.values()]
        cells = ["–" if value is None else f"`{json.dumps(value)}`" for value in values]
        lines.append(f"| `{key}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """One line of a Markdown table."""
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")


if __name__ == "__main__":
    REFERENCE.write_text(build(), encoding="utf-8")
    print(f"wrote {REFERENCE}")
