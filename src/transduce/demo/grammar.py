"""The machine: a synchronous grammar whose sentences are numbered.

A `Rule` holds one Chinese and one English template over the same slots, so that both sentences are
written at once and the grammar knows which words translate which. A slot is filled by a `Word` or by a
clause of another rule. Every derivation of a rule has a number (`Rule.size` of them), so sentences are
drawn without replacement by drawing numbers, and the same numbers give the same corpus for ever.

In a template
    {o}       is the word in slot `o`; {o.many} its form `many`
    {v@s}     is the verb `v` in the present tense, agreeing with `s`; {v.usual@s} as a habit;
              {v.past@s} another form of it
    {be@s}    is a function word that agrees with `s` (`AGREEMENT`)
    [1谁]     is fixed text; it translates what has the same digit on the other side
and a `~` inside a word's English stands for the possessive of `s`: "write ~ paper" → "write my paper".
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

Person = Literal["first", "plural", "third"]

AGREEMENT: dict[str, dict[Person, str]] = {
    "be": {"first": "am", "plural": "are", "third": "is"},
    "not_be": {"first": "am not", "plural": "aren't", "third": "isn't"},
    "was": {"first": "was", "plural": "were", "third": "was"},
    "do": {"first": "do", "plural": "do", "third": "does"},
    "not_do": {"first": "don't", "plural": "don't", "third": "doesn't"},
    "have": {"first": "have", "plural": "have", "third": "has"},
    "not_have": {"first": "haven't", "plural": "haven't", "third": "hasn't"},
}
"""Function words by the person of what they agree with ("plural" includes "you")."""

_MARK = re.compile(r"\{(\w+)(?:\.(\w+))?(?:@(\w+))?\}|\[(\d)([^\]]+)\]")


@dataclass(frozen=True, eq=False)
class Word:
    """A Chinese expression with the English forms that templates may ask for."""

    zh: str
    en: str
    forms: Mapping[str, str] = field(default_factory=dict)
    """English by form: `past`, `many`, `poss`, …"""
    zh_forms: Mapping[str, str] = field(default_factory=dict)
    """Chinese by form: `cl` is the classifier, `post` what closes a degree (太…了)."""
    person: Person = "third"
    key: str = ""
    """Name in the combinations that are held out; the Chinese where empty. 写论文 is 写|论文."""
    sense: str = ""
    """Which sense or compound of 水 this is, if any."""

    @property
    def name(self) -> str:
        return self.key or self.zh


class Piece(NamedTuple):
    """Text of one side; pieces of both sides that share a link translate each other."""

    text: str
    link: str = ""


@dataclass(frozen=True)
class Phrase:
    """One derivation, written in both languages."""

    zh: tuple[Piece, ...]
    en: tuple[Piece, ...]
    combinations: tuple[str, ...]
    """What a split may hold out, as subject|verb|object."""
    senses: tuple[str, ...]

    @property
    def source(self) -> str:
        return "".join(piece.text for piece in self.zh)


@dataclass(frozen=True)
class _Mark:
    """A parsed place of a template: fixed text, or a slot with the form that is asked of it."""

    text: str = ""
    slot: str = ""
    form: str = ""
    agrees_with: str = ""
    link: str = ""

    @cached_property
    def fixed(self) -> tuple[Piece, ...]:
        return (Piece(self.text, self.link),)


@dataclass(frozen=True, eq=False)
class Rule:
    """A Chinese and an English template with what may fill their slots; see the module's docstring."""

    zh: str
    en: str
    slots: Mapping[str, tuple[Word, ...] | tuple[Rule, ...]]
    combinations: tuple[str, ...]
    """Slot names and literals joined by `|`, such as `s|v|o`: what a split may hold out."""
    distinct: tuple[str, ...] = ()
    """Pairs of slots, such as `so`, that must not hold the same word."""
    weight: int = 100
    """How many of its sentences to draw (all of them where it has fewer)."""

    @cached_property
    def size(self) -> int:
        """Number of derivations, those with equal words in `distinct` slots included."""
        return math.prod(self._sizes.values())

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {
            name: sum(option.size if isinstance(option, Rule) else 1 for option in options)
            for name, options in self.slots.items()
        }

    def derive(self, number: int) -> Phrase | None:
        """Write derivation `number` (0 ≤ number < size); None if two `distinct` slots are equal."""
        filled: dict[str, Word | Phrase] = {}
        for name, options in self.slots.items():
            number, rest = divmod(number, self._sizes[name])
            value = _pick(options, rest)
            if value is None:
                return None
            filled[name] = value
        if any(_same(filled[pair[0]], filled[pair[1]]) for pair in self.distinct):
            return None
        zh = tuple(piece for mark in self._marks_zh for piece in _write(mark, filled, chinese=True))
        en = tuple(piece for mark in self._marks_en for piece in _write(mark, filled, chinese=False))
        inner = [value for value in filled.values() if isinstance(value, Phrase)]
        senses = [value.sense for value in filled.values() if isinstance(value, Word) and value.sense]
        return Phrase(
            zh,
            en,
            (*(_combine(c, filled) for c in self.combinations), *(c for p in inner for c in p.combinations)),
            tuple(dict.fromkeys([*senses, *(sense for p in inner for sense in p.senses)])),
        )

    @cached_property
    def _marks_zh(self) -> tuple[_Mark, ...]:
        return _parse(self.zh)

    @cached_property
    def _marks_en(self) -> tuple[_Mark, ...]:
        return _parse(self.en)


def rule(
    zh: str,
    en: str,
    combinations: str,
    weight: int = 100,
    distinct: str = "",
    **slots: Word | Rule | tuple[Word, ...] | tuple[Rule, ...],
) -> Rule:
    """Write a rule briefly: combinations and distinct pairs in words, single words bare."""
    options: dict[str, tuple[Word, ...] | tuple[Rule, ...]] = {}
    for name, value in slots.items():
        match value:
            case Word():
                options[name] = (value,)
            case Rule():
                options[name] = (value,)
            case _:
                options[name] = value
    return Rule(zh, en, options, tuple(combinations.split()), tuple(distinct.split()), weight)


def _pick(options: tuple[Word, ...] | tuple[Rule, ...], number: int) -> Word | Phrase | None:
    for option in options:
        if isinstance(option, Word):
            if number == 0:
                return option
            number -= 1
        elif number < option.size:
            return option.derive(number)
        else:
            number -= option.size
    raise IndexError(number)


def _same(first: Word | Phrase, second: Word | Phrase) -> bool:
    left = first.name if isinstance(first, Word) else first.source
    right = second.name if isinstance(second, Word) else second.source
    return left == right


def _combine(pattern: str, filled: Mapping[str, Word | Phrase]) -> str:
    names = []
    for part in pattern.split("|"):
        value = filled.get(part)
        names.append(value.name if isinstance(value, Word) else part)
    return "|".join(names)


def _parse(template: str) -> tuple[_Mark, ...]:
    marks, end = [], 0
    for match in _MARK.finditer(template):
        if match.start() > end:
            marks.append(_Mark(template[end : match.start()]))
        slot, form, agrees_with, digit, text = match.groups(default="")
        marks.append(_Mark(text, slot, form, agrees_with, digit))
        end = match.end()
    if end < len(template):
        marks.append(_Mark(template[end:]))
    return tuple(marks)


def _write(mark: _Mark, filled: Mapping[str, Word | Phrase], *, chinese: bool) -> tuple[Piece, ...]:
    if not mark.slot:
        return mark.fixed
    partner = filled.get(mark.agrees_with)
    if mark.slot in AGREEMENT:
        assert isinstance(partner, Word), mark
        return (Piece(AGREEMENT[mark.slot][partner.person]),)
    value = filled[mark.slot]
    if isinstance(value, Phrase):
        pieces = value.zh if chinese else value.en
        return tuple(Piece(p.text, f"{mark.slot}.{p.link}" if p.link else "") for p in pieces)
    text = _chinese(value, mark.form) if chinese else _english(value, mark.form, partner)
    return (Piece(text, mark.slot if text else ""),)


def _chinese(word: Word, form: str) -> str:
    return word.zh_forms[form] if form else word.zh


def _english(word: Word, form: str, partner: Word | Phrase | None) -> str:
    if isinstance(partner, Word):
        tenses = {"": ("third", "base"), "usual": ("usual_third", "generic")}.get(form, (form, form))
        form = tenses[0] if partner.person == "third" else tenses[1]
        text = word.forms[form]
        return text.replace("~", partner.forms["own"]) if "~" in text else text
    return word.forms[form] if form else word.en
