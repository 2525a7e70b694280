"""The base of every configuration: frozen, closed to unknown keys, errors in words."""

from __future__ import annotations

import difflib
import reprlib
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from transduce.errors import ConfigError

MOST_SHOWN = 5
"""Faults of a file that one message names; the others are counted."""

LONGEST_SHOWN = 80
"""Characters of a key or a text that a message shows."""

LONGEST_MESSAGE = 500
"""Characters of what one setting's own check says, which may hold such a text."""

LONGEST_TEXT = 4096
"""Characters of a text or a path: systems know no longer path."""


class Config(BaseModel):
    """A frozen group of settings. A field's docstring gives its meaning, unit and default."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False
    )

    largest: ClassVar[int] = 2**53
    """Whole numbers beyond it are a slip: no seed or count needs them, and what computes with them overflows."""

    @model_validator(mode="after")
    def _values_are_usable(self) -> Self:
        for name, value in self:
            if isinstance(value, int) and abs(value) > self.largest:
                raise ValueError(f"`{name}` = {shown(value)}: expected a number of at most {self.largest:,}")
            if isinstance(value, str | Path) and len(str(value)) > LONGEST_TEXT:
                raise ValueError(f"`{name}` = {shown(str(value))}: expected at most {LONGEST_TEXT:,} characters")
        return self


class _Short(reprlib.Repr):
    """A value on one line, cut where it is long or deep; `repr` itself refuses numbers of 4,300 digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = LONGEST_SHOWN

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if abs(x) < 10**LONGEST_SHOWN else f"a number of over {LONGEST_SHOWN} digits"


def shown(value: object) -> str:
    """A value for a message, like `repr` but never long."""
    return _Short().repr(value)


def explain(error: ValidationError, model: type[BaseModel], where: str) -> ConfigError:
    """Turn pydantic's report into sentences that name the key, the value and the nearest known key."""
    lines = []
    for item in error.errors()[:MOST_SHOWN]:
        path, models = _walk(model, item["loc"])
        key = ".".join(path)
        if item["type"] == "extra_forbidden":
            unknown = str(item["loc"][-1])[:LONGEST_SHOWN]
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
            lines.append(f"`{key}.{tag}` = {shown(value)}: expected one of {known}")
        else:
            message = item["msg"].removeprefix("Value error, ")[:LONGEST_MESSAGE]
            lines.append(f"`{key}` = {shown(item['input'])}: {message}" if key else message)
    if error.error_count() > MOST_SHOWN:
        lines.append(f"and {error.error_count() - MOST_SHOWN} more")
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
