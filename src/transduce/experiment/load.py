"""From a TOML file and `--set a.b=c` to a validated, frozen `Experiment`, and back to TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from transduce.config import LONGEST_SHOWN, explain, shown
from transduce.data.corpus import CorpusConfig
from transduce.errors import ConfigError
from transduce.experiment.presets import choose, merge
from transduce.experiment.settings import Experiment

LONGEST = 2**20
"""Characters of an experiment at most; every setting there is takes about 4,000."""

_CHAIN = re.compile(r"""(?<![\w"'-])(?:[\w"'-]+[ \t]*\.[ \t]*){40}""")
"""A key of 40 parts and more. No setting is so deep, and the parser's time grows with the square of them."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """An experiment, and why it has its preset."""

    experiment: Experiment
    reason: str


def load(path: Path, settings: Iterable[str], count_pairs: Callable[[Sequence[CorpusConfig]], int]) -> Loaded:
    """Read an experiment file, lay `settings` ("a.b=c") over it, fill in the preset, check everything.

    `count_pairs` is asked for the size of the training text only where no preset is named.
    Raises ConfigError with the file, the key, the value and what was expected.
    """
    table = _read(path)
    for setting in settings:
        _apply(table, setting)
    _resolve_paths(table, path.parent)
    return complete(table, str(path), count_pairs)


def complete(table: dict[str, Any], where: str, count_pairs: Callable[[Sequence[CorpusConfig]], int]) -> Loaded:
    """Fill in the preset of a table of settings and check everything. `where` stands in messages."""
    table = _on_initial(table, where)
    if "preset" in table:
        experiment = _validate(table, where)
        return Loaded(experiment, f"`{experiment.preset}` was asked for")
    # Check with any preset first, so that an error in the file is told before a corpus is read.
    checked = _validate({**table, "preset": "tiny"}, where)
    name, reason = choose(count_pairs(checked.data.train))
    return Loaded(_validate({**table, "preset": name}, where), f"`{name}`: {reason}")


def parse(text: str, where: str) -> Experiment:
    """Read back what `to_toml` wrote: every key that a preset could fill in is there."""
    try:
        return _validate(_table(text), where)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not valid TOML: {error}") from None


def apply_settings(experiment: Experiment, settings: Iterable[str], where: str) -> Experiment:
    """The experiment with `settings` ("a.b=c") laid over it, checked."""
    table = experiment.model_dump(mode="json", exclude_none=True)
    for setting in settings:
        _apply(table, setting)
    return _validate(table, where)


def to_toml(experiment: Experiment) -> str:
    """Every setting of an experiment; TOML has no null, so what is unset is left out."""
    return tomli_w.dumps(experiment.model_dump(mode="json", exclude_none=True))


def _on_initial(table: dict[str, Any], where: str) -> dict[str, Any]:
    """The settings laid on those of model and tokenizer that the run has from which this one goes on.

    How a matrix is shared and what the target's vocabulary is are for the new task to say.
    """
    if not isinstance(table.get("initial"), str):
        return table
    path = Path(table["initial"]) / "experiment.toml"
    try:
        there = path.is_file()
    except OSError:  # a name that is too long
        there = False
    if not there:
        name = table["initial"][:LONGEST_SHOWN]
        raise ConfigError(f"{where}: initial = {name}: no run folder is there, which has an {path.name}")
    before = _validate(_read(path), str(path))
    under = {
        "model": before.model.model_dump(mode="json", exclude_none=True, exclude={"tie"}),
        "tokenizer": before.tokenizer.model_dump(mode="json", exclude_none=True, exclude={"joint", "target_kind"}),
    }
    return merge(under, table)


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return _table(file.read(4 * (LONGEST + 1)).decode("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such experiment file; `transduce train --help` shows how to write one") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); expected an experiment in TOML") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 (byte {error.start}); expected an experiment in TOML") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _table(text: str) -> dict[str, Any]:
    """A TOML document. Raises TOMLDecodeError, whatever is wrong with it and however large it is."""
    if len(text) > LONGEST or _CHAIN.search(text):
        raise tomllib.TOMLDecodeError(f"more than {LONGEST:,} characters, or a key of more than 40 parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError):
        raise tomllib.TOMLDecodeError("a number of thousands of digits, or brackets nested hundreds deep") from None


def _apply(table: dict[str, Any], setting: str) -> None:
    key, equals, value = setting.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise ConfigError(f"--set {setting}: expected KEY.KEY=VALUE, such as training.seed=2")
    for part in parts[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise ConfigError(f"--set {setting}: `{part}` is a value, not a table of settings")
    table[parts[-1]] = _value(value.strip())


def _value(text: str) -> Any:
    """A TOML value; a bare word is text, so that --set compute.device=cpu needs no quotes."""
    try:
        return _table(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _resolve_paths(table: dict[str, Any], base: Path) -> None:
    """Make the paths of an experiment file absolute: they are relative to the file, not to where one stands."""
    data = table.get("data")
    if isinstance(data, dict):
        train = data.get("train")
        test = data.get("test")
        corpora = [*(train if isinstance(train, list) else []), data.get("valid")]
        corpora += test.values() if isinstance(test, dict) else []
        for corpus in corpora:
            _resolve_keys(corpus, ("source", "target", "tsv", "jsonl", "text"), base)
    _resolve_keys(table, ("initial", "source_vectors", "target_vectors"), base)


def _resolve_keys(table: Any, keys: Iterable[str], base: Path) -> None:
    for key in keys:
        if isinstance(table, dict) and isinstance(table.get(key), str):
            try:
                table[key] = str((base / table[key]).resolve())
            except (OSError, ValueError, RuntimeError) as error:  # a NUL, or links that lead in a circle
                raise ConfigError(f"`{key}` = {shown(table[key])}: not a path ({error})") from None


def _validate(table: dict[str, Any], where: str) -> Experiment:
    try:
        return Experiment.model_validate(table)
    except ValidationError as error:
        raise explain(error, Experiment, where) from None
