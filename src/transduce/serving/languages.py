"""Codes of languages: one canonical form, what counts as the same language, and names for people."""

from __future__ import annotations

from collections.abc import Iterable

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian",
    "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician",
    "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh",
    "km": "Khmer", "ko": "Korean", "la": "Latin", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian",
    "mk": "Macedonian", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "my": "Burmese", "nb": "Norwegian Bokmål",
    "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian Nynorsk", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""English names of the languages that have one here; any other shows its code."""

TRADITIONAL = frozenset({"TW", "HK", "MO"})
"""Regions that write Chinese in the traditional script."""


def canonical(code: str) -> str:
    """The form of BCP 47 in which answers spell a code: zh-Hans, pt-BR, en."""
    language, *rest = code.strip().replace("_", "-").split("-")
    return "-".join([language.lower(), *map(_subtag, rest)])


def _subtag(subtag: str) -> str:
    if len(subtag) == 4 and subtag.isalpha():
        return subtag.title()
    return subtag.upper() if len(subtag) == 2 else subtag.lower()


def name(code: str) -> str:
    """What people call a language, such as "Portuguese (BR)"."""
    language, *rest = code.split("-")
    known = NAMES.get(language, language)
    return f"{known} ({', '.join(rest)})" if rest else known


def match(code: str, known: Iterable[str]) -> str | None:
    """The one of some canonical codes that a code means: itself, else a wider one, else its only relative.

    zh-Hans is read by a run for zh, and pt by one for pt-BR; but no code is answered in another script.
    """
    wanted, codes = canonical(code), list(dict.fromkeys(known))
    parts = wanted.split("-")
    for length in range(len(parts), 0, -1):
        if (shorter := "-".join(parts[:length])) in codes:
            return shorter
    script = _script(wanted)
    relatives = [c for c in codes if c.split("-")[0] == parts[0] and (not script or _script(c) in ("", script))]
    return relatives[0] if len(relatives) == 1 else None


def _script(code: str) -> str:
    """The script that a code names or, of Chinese, implies; empty where it says nothing of one."""
    language, *rest = code.split("-")
    named = [part for part in rest if len(part) == 4 and part.isalpha()]
    if named or language != "zh" or not rest:
        return named[0] if named else ""
    return "Hant" if TRADITIONAL & set(rest) else "Hans"
