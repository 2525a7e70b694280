"""Which side of a corpus is in which writing system: enough to see two sides swapped."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

_LANGUAGES = {
    "CJK": "zh cmn yue wuu lzh",
    "KANA": "ja jpn",
    "HANGUL": "ko kor",
    "CYRILLIC": "ru uk be bg mk kk ky mn tg",
    "ARABIC": "ar fa ur ps ug sd ckb",
    "HEBREW": "he yi",
    "GREEK": "el",
    "DEVANAGARI": "hi mr ne sa",
    "BENGALI": "bn as",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "ORIYA": "or",
    "SINHALA": "si",
    "THAI": "th",
    "LAO": "lo",
    "KHMER": "km",
    "MYANMAR": "my",
    "TIBETAN": "bo",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
    "ETHIOPIC": "am ti",
    "LATIN": "en de fr es it pt nl sv da no nb nn fi et lv lt pl cs sk sl hr hu ro tr vi id ms sw eu ca "
    "gl ga cy is sq af eng deu fra spa",
}
_SCRIPT_OF = {code: script for script, codes in _LANGUAGES.items() for code in codes.split()}
_KANA = ("HIRAGANA", "KATAKANA")

MARGIN = 0.2
"""How much more of a language's own script the wrong column must hold before it counts."""


def script_of(language: str) -> str | None:
    """The script that tells a language apart ("zh-Hans" → "CJK"), or None where it isn't known here."""
    return _SCRIPT_OF.get(language.replace("_", "-").split("-")[0].lower())


def count_scripts(text: str) -> Counter[str]:
    """Letters of a text by script, named by the first word of their Unicode names."""
    return Counter(script for c in text if (script := _script(c)))


def looks_swapped(source_language: str, target_language: str, sample: Iterable[tuple[str, str]]) -> bool:
    """Whether the target column of a sample is written as the source language is, and the reverse.

    Languages of one script can't be told apart so, and never count as swapped.
    """
    source: Counter[str] = Counter()
    target: Counter[str] = Counter()
    for left, right in sample:
        source += count_scripts(left)
        target += count_scripts(right)
    return counts_look_swapped(source_language, target_language, source, target)


def counts_look_swapped(
    source_language: str, target_language: str, source: Mapping[str, int], target: Mapping[str, int]
) -> bool:
    """`looks_swapped` for letters that are counted already."""
    expected = script_of(source_language), script_of(target_language)
    if expected[0] == expected[1]:
        return False
    verdicts = []
    if expected[0] is not None:
        verdicts.append(_share(expected[0], target) - _share(expected[0], source) > MARGIN)
    if expected[1] is not None:
        verdicts.append(_share(expected[1], source) - _share(expected[1], target) > MARGIN)
    return all(verdicts)


def _share(script: str, counts: Mapping[str, int]) -> float:
    return counts.get(script, 0) / max(1, sum(counts.values()))


@lru_cache(maxsize=1 << 14)
def _script(character: str) -> str | None:
    if not character.isalpha():
        return None
    word = unicodedata.name(character, "").split(" ")[0]
    return "KANA" if word in _KANA else word or None
