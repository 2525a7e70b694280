"""Where the sentences of a text are. Between them stand white space and, where a line begins, marks of a list.

A line ends as everywhere here (`transduce.text.lines`), and so does its last sentence. Within a line `sentencex` finds
the sentences, by the rules of each language: an abbreviation of one is the end of a sentence in another.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from transduce.errors import ConfigError
from transduce.text.lines import safe, split_text

Span = tuple[int, int]
"""Places in characters, the end excluded."""

CLAUSE_END = frozenset(",;:、，；：—–…·)）”»")
"""After which a sentence that is too long is cut with the least harm."""


_MARKS = re.compile(r"\s*(?:[-*+•·>#]{1,6}\s+)*")
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff00-\uffef\U00020000-\U0003ffff]"
)


def is_spaceless(character: str) -> bool:
    """Whether a character is of a script that puts no space between words (Han, Kana, Thai, Lao, Burmese, Khmer) or
    one of the wide signs that are written with it."""
    return _SPACELESS.fullmatch(character) is not None


def sentence_spans(text: str, language: str) -> list[Span]:
    """The sentences of a text, in order and without overlap. Outside them stand only white space and the marks that
    begin a line of a list, a heading or a quotation (-, *, #, >).

    `language` is a code such as en, zh or pt-BR; one without rules of its own is read by those of English.

    Raises ConfigError where `sentencex` isn't installed.
    """
    try:
        from sentencex import segment
    except ImportError:
        raise ConfigError("long texts are split by the package sentencex: pip install 'transduce[serve]'") from None
    code = language.replace("_", "-").split("-")[0].lower()
    found: list[Span] = []
    at = 0
    for content, ending in split_text(safe(text)):
        mark = len(_MARKS.match(content)[0])  # type: ignore[index]
        at += mark
        for sentence in segment(code, content[mark:]):
            core = sentence.strip()
            if core:
                start = at + sentence.index(core)
                found.append((start, start + len(core)))
            at += len(sentence)
        at += len(ending)
    return found


def cut_long(text: str, size: Callable[[str], int], longest: int, *, whole: Sequence[Span] = ()) -> list[Span]:
    """Spans of a sentence, none larger than `longest` where that can be; only white space stands outside them.

    One that is too large is halved near its middle: at the end of a clause or, without one, at white space or, as in
    Chinese, between any characters; but never inside a span of `whole`. `size` counts what a text comes to, such as
    its tokens.
    """
    done: list[Span] = []
    waiting = [(0, len(text))]
    while waiting:
        start, end = waiting.pop()
        middle = None if size(text[start:end]) <= longest else _middle(text, start, end, whole)
        if middle is None:
            done.append((start, end))
            continue
        left, right = text[start:middle].rstrip(), text[middle:end].lstrip()
        waiting += [(end - len(right), end), (start, start + len(left))]
    return done


def _middle(text: str, start: int, end: int, whole: Sequence[Span]) -> int | None:
    """The best place to halve `text[start:end]`, which has no outer white space; None where there is none."""
    inside = {place for first, last in whole if first < end and start < last for place in range(first + 1, last)}
    centre = (start + end) // 2
    outwards = (centre + sign * step for step in range(end - start) for sign in ((1, -1) if step else (1,)))
    places = [place for place in outwards if start < place < end and place not in inside]
    # Further out than half-way a cut would leave a scrap; there only white space is better than the middle of a word.
    near = [place for place in places if 4 * abs(place - centre) <= end - start]
    tries = ((_after_clause, near), (_at_space, near), (_in_spaceless, near), (_at_space, places), (_apart, places))
    return next((place for wanted, among in tries for place in among if wanted(text, place)), None)


def _after_clause(text: str, place: int) -> bool:
    # A comma of ASCII may stand in a number.
    return text[place - 1] in CLAUSE_END and (text[place - 1] > "\x7f" or text[place].isspace())


def _at_space(text: str, place: int) -> bool:
    return text[place].isspace()


def _in_spaceless(text: str, place: int) -> bool:
    return is_spaceless(text[place - 1]) and is_spaceless(text[place])


def _apart(text: str, place: int) -> bool:
    return not unicodedata.combining(text[place])
