"""The tokenizer file: JSON, checked completely before anything is built from it.

`{"format": …, "version": 1, "config": {…}, "vocabularies": {"joint": […]}}`, or `"source"` and
`"target"` where each side has its own. A vocabulary is a list of strings in order of their ids: the
pieces themselves, or for BPE its merges (`"a b"`), from which the pieces follow; so pieces and
merges cannot contradict each other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from transduce.config import explain
from transduce.errors import RunError
from transduce.text.bpe import ALPHABET, ByteBPE, piece_bytes
from transduce.text.lines import safe
from transduce.text.tokenizer import TokenizerConfig
from transduce.text.vocabulary import (
    FORBIDDEN,
    FULL_STOP,
    LONGEST_PIECE,
    MOST_PIECES,
    PieceVocabulary,
    Vocabulary,
    readable,
)

FORMAT = "transduce tokenizer"
VERSION = 1
"""Raised with each change of what a file means, the rule of pre-tokenisation included."""

LARGEST_FILE = 64 * 2**20
"""Bytes; a million words take about 20 MB."""


class _Refused(Exception):
    """What is wrong with a file; `read` adds which file and what to do."""


def write(path: Path, config: TokenizerConfig, vocabularies: Mapping[str, Vocabulary]) -> None:
    """Store the vocabularies (`joint`, or `source` and `target`); equal content gives equal bytes."""
    path.write_bytes((json.dumps(document(config, vocabularies), ensure_ascii=False, indent=0) + "\n").encode("utf-8"))


def document(config: TokenizerConfig, vocabularies: Mapping[str, Vocabulary]) -> dict[str, Any]:
    """The content of the file as plain data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "config": config.model_dump(mode="json", exclude_none=True),
        "vocabularies": {name: vocabulary.content() for name, vocabulary in vocabularies.items()},
    }


def read(path: Path) -> tuple[TokenizerConfig, dict[str, Vocabulary]]:
    """Load what `write` stored.

    Raises:
        RunError: the file is missing, cut off, of another version, or anything in it does not hold.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError("not a file")  # a pipe or a device would never end
        if path.stat().st_size > LARGEST_FILE:
            raise _Refused(f"larger than {LARGEST_FILE:,} bytes")
        data = _parse(path.read_bytes())
        _check_header(data)
        config = _config(data["config"])
        names = ["joint"] if config.joint else ["source", "target"]
        stored = data["vocabularies"]
        if not isinstance(stored, dict) or sorted(stored) != names:
            raise _Refused(f"expected the vocabularies {' and '.join(names)} for joint = {str(config.joint).lower()}")
        return config, {name: _vocabulary(name, stored[name], config.of(name)) for name in names}
    except OSError as error:
        raise RunError(
            f"{path}: cannot read the tokenizer ({error.strerror or error}); expected the tokenizer.json of a run: "
            "check the path, or copy the run folder again"
        ) from error
    except (_Refused, RecursionError) as problem:
        raise RunError(
            f"{path}: not a valid tokenizer file: {problem}. This transduce reads format version {VERSION} "
            "as it writes it; copy the file again, or train the tokenizer again"
        ) from None


def _parse(data: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(data.decode("utf-8"), object_pairs_hook=_unique_keys)
    except UnicodeDecodeError:
        raise _Refused("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _Refused(f"not complete JSON (line {error.lineno}: {error.msg}); it may have been cut off") from None
    except (ValueError, RecursionError):
        # A number of thousands of digits, or brackets nested thousands deep.
        raise _Refused("JSON that no tokenizer file holds") from None
    if not isinstance(parsed, dict):
        raise _Refused("expected a JSON object")
    return parsed


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise _Refused(f"the key {_shown(twice)} is there twice")
    return result


def _check_header(data: dict[str, Any]) -> None:
    if data.get("format") != FORMAT:
        raise _Refused(f'`format` is {_shown(data.get("format"))}, expected "{FORMAT}"')
    version = data.get("version")
    if type(version) is not int or version != VERSION:
        raise _Refused(f"`version` is {_shown(version)}, expected {VERSION}")
    keys = {"format", "version", "config", "vocabularies"}
    if data.keys() != keys:
        raise _Refused(f"expected the keys {', '.join(sorted(keys))}, found {_shown(', '.join(data))}")


def _config(data: Any) -> TokenizerConfig:
    try:
        return TokenizerConfig.model_validate(data)
    except ValidationError as error:
        raise _Refused(str(explain(error, TokenizerConfig, "config"))[:500]) from None


def _vocabulary(name: str, items: Any, config: TokenizerConfig) -> Vocabulary:
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise _Refused(f"the vocabulary {name} is not a list of strings")
    if len(items) > MOST_PIECES:
        raise _Refused(f"the vocabulary {name} has {len(items):,} entries, at most {MOST_PIECES:,} are allowed")
    # Longest first: nothing below may work on, or print, a string of any length.
    longest = max(map(len, items), default=0)
    if longest > 2 * LONGEST_PIECE:
        raise _Refused(
            f"the vocabulary {name} has a piece of {longest:,} characters, at most {LONGEST_PIECE:,} are allowed"
        )
    if len(set(items)) < len(items):
        raise _Refused(f"the vocabulary {name} has an entry twice")
    vocabulary = _bpe(name, items, config) if config.kind == "bpe" else _pieces(name, items, config)
    if vocabulary.size > config.vocabulary:
        raise _Refused(f"the vocabulary {name} has {vocabulary.size} ids, its config allows {config.vocabulary}")
    return vocabulary


def _bpe(name: str, items: list[str], config: TokenizerConfig) -> ByteBPE:
    known = set(ALPHABET)
    merges = []
    for number, item in enumerate(items, 1):
        left, _, right = item.partition(" ")
        if left not in known or right not in known:
            raise _Refused(f"merge {number} of {name}, {_shown(item)}, does not join two earlier pieces")
        _check_piece(name, left + right, piece_bytes(left + right).decode("utf-8", errors="replace"))
        known.add(left + right)
        merges.append((left, right))
    return ByteBPE(merges, split_han=config.split_han)


def _pieces(name: str, items: list[str], config: TokenizerConfig) -> PieceVocabulary:
    assert config.kind != "bpe"
    for item in items:
        _check_piece(name, item, item)
        if not item or (config.kind == "character" and len(item) != 1) or safe(item) != item:
            raise _Refused(f"{_shown(item)} in the vocabulary {name} is no {config.kind} piece")
    if config.kind == "sentences" and items[:1] != [FULL_STOP]:
        raise _Refused(f"the first piece of the vocabulary {name} is not the full stop")
    return PieceVocabulary(config.kind, items)


def _check_piece(name: str, piece: str, text: str) -> None:
    if len(piece) > LONGEST_PIECE:
        raise _Refused(
            f"the vocabulary {name} has a piece of {len(piece):,} characters, at most {LONGEST_PIECE:,} are allowed"
        )
    if FORBIDDEN.search(text):
        raise _Refused(f"the vocabulary {name} has the piece {_shown(text)}; NUL, CR, LF and U+FEFF are in no piece")


def _shown(value: object) -> str:
    """A value of the file, short and on one line; a container by its kind, as it may be huge."""
    text = value if isinstance(value, str) else type(value).__name__ if isinstance(value, list | dict) else repr(value)
    return f"`{readable(safe(text[:60]))}{'…' if len(text) > 60 else ''}`"
