"""What no translation may change: addresses, placeholders, tags, entities, emoji, numbers that stand by themselves."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

Format = Literal["text", "html"]
Kind = Literal["url", "email", "opening", "closing", "entity", "placeholder", "emoji", "number"]

# Scripts that are written without spaces let an address be followed by a word at once, so it ends there.
_NO_ADDRESS = "\\s<>\"'`|\u2018-\u201f\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef"
_PICTURE = "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff][\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
_EMOJI = rf"[0-9#*]\ufe0f?\u20e3|[\U0001f1e6-\U0001f1ff]{{2}}|{_PICTURE}(?:\u200d{_PICTURE})*"

_URL = rf"(?:https?://|ftp://|mailto:|www\.)(?:\([^{_NO_ADDRESS}()]*\)|[^{_NO_ADDRESS}()])+(?<![.,;:!?*\]}}])"
# Lengths are bounded, as the standard has them, so that no text takes time by the square of its length.
_EMAIL = r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*\.[A-Za-z]{2,63}"
# {{x}} {% x %} ${x} #{x} %{x} {x}, then %s %(n)d %1$s %.2f; "100% sure" holds none.
_PLACEHOLDER = (
    r"\{\{[^{}\n]*\}\}|\{%[^{}\n]*%\}|[$#%]?\{[^{}\s]*\}"
    r"|(?<![\d%])%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh?|ll?|[Lzjt])?[sdiufFeEgGxXoc@](?![A-Za-z])"
)
_ATTRIBUTE = r"""\s+[\w:@.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+)"""
# In plain text only what can be nothing else; "a <b and c> d" compares.
_TEXT_OPENING = rf"<[A-Za-z0-9][\w:-]*(?:{_ATTRIBUTE})*\s*/?>"
_COMMENT = "<!--.*?-->"
_ELEMENT = r"(?i:<(?P<raw>{})\b.*?</(?P=raw)\s*>)"
_HTML_TAG = r"""<[A-Za-z!?][^<>"']*(?:"[^"]*"[^<>"']*|'[^']*'[^<>"']*)*>"""
_HTML_OPENING = "|".join((_COMMENT, _ELEMENT.format("script|style|pre|code|textarea"), _HTML_TAG))
_CLOSING = r"</[A-Za-z0-9][\w:-]*\s*>"
_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]+|#[xX][0-9A-Fa-f]+);"
# 3月 is March and 3万 is 30,000, as 3rd is third: there the digits are part of a word. So they are in mp3.
_NUMBER = (
    r"(?<![^\W\u3000-\u9fff])(?:(?<![\w)])[-+−])?\d++(?:[.,:/'’-]\d++)*+(?: ?%(?![\w(])|‰|°)?+"
    r"(?![月万亿千百十萬億]|(?:st|nd|rd|th|s)\b)"
)


def _pattern(format: Format) -> re.Pattern[str]:
    kinds: list[tuple[str, str]] = [
        ("closing", _CLOSING),
        ("opening", _HTML_OPENING if format == "html" else _TEXT_OPENING),
        ("entity", _ENTITY if format == "html" else r"(?!)"),
        ("url", _URL),
        ("email", _EMAIL),
        ("placeholder", _PLACEHOLDER),
        ("emoji", _EMOJI),
        ("number", _NUMBER),
    ]
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds), re.DOTALL)


_IN_WORD = re.compile(_ENTITY)
_MARKUP = re.compile("|".join((_COMMENT, _ELEMENT.format("script|style"), _HTML_TAG, _CLOSING)), re.DOTALL)
_INLINE = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|mark|q|s|samp|small|span|"
    "strike|strong|sub|sup|time|tt|u|var|wbr",
    re.IGNORECASE,
)
"""Tags that can stand within a sentence; any other of HTML ends one."""

_PATTERNS: dict[Format, re.Pattern[str]] = {"text": _pattern("text"), "html": _pattern("html")}


@dataclass(frozen=True, slots=True)
class Protected:
    """A stretch of a text, in characters, the end excluded."""

    start: int
    end: int
    kind: Kind
    text: str

    @property
    def in_order(self) -> bool:
        """Whether its place among its like means something: tags nest, and the first %s is not the second."""
        nameless = self.text == "{}" or (self.text[0] == "%" and not set("({$") & set(self.text))
        return self.kind in ("opening", "closing", "emoji") or (self.kind == "placeholder" and nameless)


def protected(text: str, format: Format = "text", *, numbers: bool = True) -> list[Protected]:
    """What a translation of a text must keep letter for letter, in order and without overlap.

    In HTML these are all tags, comments, and the content of script, style, pre, code and textarea; and every character
    reference but those of letters and quotation marks, which belong to a word. `numbers=False` leaves numbers out.
    """
    found = []
    for match in _PATTERNS[format].finditer(text):
        kind = cast(Kind, match.lastgroup if match.lastgroup != "raw" else "opening")
        written = match[0]
        if (kind == "number" and not numbers) or (kind == "entity" and _in_word(written)):
            continue
        found.append(Protected(match.start(), match.end(), kind, written))
    return found


def _in_word(entity: str) -> bool:
    meant = html.unescape(entity)
    return meant.isalpha() or meant in ("'", '"', "’", "‘", "“", "”")


def keeps(source: Sequence[Protected], target: Sequence[Protected]) -> bool:
    """Whether a translation has all of it: as often, and where order is all that tells things apart, in the same one.

    A translation may have numbers besides ("two" may become 2), but nothing else that was not there.
    """
    if [p.text for p in source if p.in_order] != [p.text for p in target if p.in_order]:
        return False
    free = [Counter((p.kind, p.text) for p in side if not p.in_order) for side in (source, target)]
    missing, made_up = free[0] - free[1], free[1] - free[0]
    return not missing and all(kind == "number" for kind, _ in made_up)


def meant(markup: str) -> str:
    """The text that HTML holds, without tags, comments, scripts and styles: character references as what they stand
    for, white space as a space."""
    return understood(_MARKUP.sub(" ", markup))


def understood(markup: str) -> str:
    """HTML with its character references as what they stand for, and any white space as a space."""
    return html.unescape(re.sub(r"\s+", " ", markup))


def masked(text: str, found: Sequence[Protected], format: Format = "text") -> str:
    """As long as the text, for finding its sentences: what is protected can neither end nor begin one in its middle.

    Tags become white space, those of blocks in HTML a line's end; an address or a placeholder becomes a word. White
    space of HTML means no more than a space.
    """
    pieces, at = [], 0
    for one in found:
        pieces += [text[at : one.start], _mask(one, format)]
        at = one.end
    pieces.append(text[at:])
    if format == "html":
        pieces[::2] = [_IN_WORD.sub(lambda one: "x" * len(one[0]), re.sub(r"\s", " ", part)) for part in pieces[::2]]
    return "".join(pieces)


def _mask(one: Protected, format: Format) -> str:
    size = len(one.text)
    if one.kind in ("opening", "closing"):
        name = re.match(r"</?([\w:-]*)", one.text)
        tag = name[1] if name is not None else ""
        if format == "html" and tag and not _INLINE.fullmatch(tag):
            return "\n" * size
        return "X" * size if tag.lower() == "code" and format == "html" else " " * size
    if one.kind == "entity" and html.unescape(one.text).isspace():
        return " " * size
    return one.text if one.kind in ("number", "emoji") else "X" * size
