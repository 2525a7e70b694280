"""The base of every configuration: frozen, closed to unknown keys, errors in words."""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from transduce.errors import ConfigError


class Config(BaseModel):
    """A frozen group of settings. A field's docstring gives its meaning, unit and default."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True)


def explain(error: ValidationError, model: type[BaseModel], where: str) -> ConfigError:
    """Turn pydantic's report into sentences that name the key, the value and the nearest known key."""
    lines = []
    for item in error.errors():
        path, models = _walk(model, item["loc"])
        key = ".".join(path)
        if item["type"] == "extra_forbidden":
            unknown = str(item["loc"][-1])
            known = sorted({name for m in models for name in m.model_fields})
            close = difflib.get_close_matches(unknown, known, n=1, cutoff=0.5)
            hint = f"did you mean `{close[0]}`?" if close else f"known keys here: {', '.join(known)}"
            lines.append(f"unknown key `{'.'.join([*path, unknown])}`: {hint}")
        elif item["type"] == "missing":
            lines.append(f"`{key}` is missing")
        elif item["type"] == "union_tag_invalid":
            # A union of tables that one key of theirs tells apart: the fault is that key's value.
            tag, known = item["ctx"]["discriminator"].strip("'"), item["ctx"]["expected_tags"]
            value = item["input"][tag] if isinstance(item["input"], dict) else item["ctx"]["tag"]
            lines.append(f"`{key}.{tag}` = {value!r}: expected one of {known}")
        else:
            message = item["msg"].removeprefix("Value error, ")
            lines.append(f"`{key}` = {item['input']!r}: {message}" if key else message)
    return ConfigError(f"{where}: " + "; ".join(lines))


def _walk(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[list[str], list[type[BaseModel]]]:
    """Follow a location; return its keys as the file spells them, and the models it ends in.

    pydantic also puts the branch of a union into a location ("model", "transformer", "d_model"): no key of
    the file, so whatever is no field of the models reached so far is left out. Where it is the `kind` of one
    of them, it leads on to that one.
    """
    path: list[str] = []
    models: list[type[BaseModel]] = [model]
    for part in location:
        if isinstance(part, int):
            path.append(str(part))
            continue
        fields = [m.model_fields[part] for m in models if part in m.model_fields]
        if fields:
            path.append(part)
            models = [inner for field in fields for inner in _models_in(field.annotation)]
        else:
            models = [m for m in models if _kind(m) == part] or models
    return path, models


def _kind(model: type[BaseModel]) -> Any:
    """What tells a table of a union apart from the others."""
    return model.model_fields["kind"].default if "kind" in model.model_fields else None


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Every pydantic model inside an annotation such as `list[A] | B | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for argument in getattr(annotation, "__args__", ()) for m in _models_in(argument)]
