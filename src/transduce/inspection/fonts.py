"""Fonts for the labels of pictures, in whatever scripts the two languages are written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import cache
from typing import Any

FIRST = "DejaVu Sans"
"""Comes with matplotlib, so it is always there."""
_PREFERRED = ("CJK", "Han", "Hei", "YaHei", "PingFang", "Hiragino", "Gothic", "WenQuanYi", "Noto Sans", "Unifont")
_NO_GLYPHS = ("Last Resort",)


@cache
def _covered(path: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


@cache
def _fonts() -> tuple[tuple[str, str], ...]:
    """Family and file of each upright font of this machine, those that are made for many scripts first."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    manager: Any = fontManager
    # Its list is kept from the day when matplotlib was first used: later fonts are not on it.
    for path in sorted(set(findSystemFonts()) - {f.fname for f in manager.ttflist}):
        with contextlib.suppress(OSError, RuntimeError):
            manager.addfont(path)
    entries = {(f.name, f.fname) for f in manager.ttflist if f.style == "normal" and not f.name.startswith(_NO_GLYPHS)}
    return tuple(sorted(entries, key=_preference))


def _preference(entry: tuple[str, str]) -> tuple[bool, bool, bool, tuple[str, str]]:
    family = entry[0]
    return family != FIRST, not any(word in family for word in _PREFERRED), "Sans" not in family, entry


@cache
def _family_with(character: str) -> str | None:
    """The first family that has a glyph for the character."""
    if ord(character) in _covered(_first_file()):
        return FIRST
    return next((family for family, path in _fonts() if ord(character) in _covered(path)), None)


@cache
def _first_file() -> str:
    from matplotlib.font_manager import findfont

    return findfont(FIRST)


def families_for(texts: Iterable[str]) -> list[str]:
    """Font families that have, together, every character of the texts that any font of this machine has."""
    needed = (_family_with(c) for c in sorted({c for text in texts for c in text}))
    return list(dict.fromkeys([FIRST, *(family for family in needed if family)]))


def drawable(text: str) -> str:
    """The text with `U+6C34` for each character that no font of this machine has."""
    return "".join(c if _family_with(c) else f"U+{ord(c):04X} " for c in text).strip()
