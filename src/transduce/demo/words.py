"""How the words of each class are made: English inflection, and nothing of what they mean."""

from __future__ import annotations

from transduce.demo.grammar import Person, Word

_PAST = {
    "buy": ("bought", "bought"),
    "choose": ("chose", "chosen"),
    "do": ("did", "done"),
    "drink": ("drank", "drunk"),
    "eat": ("ate", "eaten"),
    "get": ("got", "got"),
    "give": ("gave", "given"),
    "hear": ("heard", "heard"),
    "know": ("knew", "known"),
    "leave": ("left", "left"),
    "make": ("made", "made"),
    "pay": ("paid", "paid"),
    "put": ("put", "put"),
    "read": ("read", "read"),
    "see": ("saw", "seen"),
    "sell": ("sold", "sold"),
    "sing": ("sang", "sung"),
    "sleep": ("slept", "slept"),
    "speak": ("spoke", "spoken"),
    "spend": ("spent", "spent"),
    "swim": ("swam", "swum"),
    "take": ("took", "taken"),
    "teach": ("taught", "taught"),
    "think": ("thought", "thought"),
    "wear": ("wore", "worn"),
    "write": ("wrote", "written"),
}
_DOUBLED = frozenset({"chat", "drop", "get", "put", "skip", "swim"})
_VOWELS = "aeiou"


def verb(zh: str, en: str, *, generic: str = "", key: str = "", sense: str = "") -> Word:
    """A verb or a whole verb phrase, inflected at its first word.

    `generic` is how the phrase reads as a habit ("write papers" beside "write ~ paper").
    """
    head, _, tail = en.partition(" ")
    rest = f" {tail}" if tail else ""
    past, participle = _PAST.get(head) or (_regular_past(head),) * 2
    forms = {
        "base": en,
        "third": _third_phrase(en),
        "past": past + rest,
        "done": participle + rest,
        "ing": _ing(head) + rest,
        "generic": generic or en,
        "usual_third": _third_phrase(generic or en),
    }
    return Word(zh, en, forms, key=key, sense=sense)


def noun(
    zh: str,
    en: str,
    plural: str = "",
    *,
    cl: str = "个",
    unit: str = "",
    person: Person | None = None,
    sense: str = "",
) -> Word:
    """A noun. With `unit` ("bottle") it is counted by that and stands bare where it is meant in general.

    Forms: none: in general (plural, or bare); `one`, `many`, `sg`: counted; `bare`: what is in the unit.
    """
    if unit:
        single, several = f"{unit} of {en}", f"{_plural(unit)} of {en}"
        forms = {"one": article(single), "many": several, "sg": single, "bare": en}
        return Word(zh, en, forms, {"cl": cl}, person or "third", sense=sense)
    several = plural or _plural(en)
    forms = {"one": article(en), "many": several, "sg": en, "bare": en}
    return Word(zh, several, forms, {"cl": cl}, "plural", sense=sense)


def thing(zh: str, en: str, person: Person = "third", *, sense: str = "", key: str = "") -> Word:
    """An expression with one English form."""
    return Word(zh, en, {"bare": en}, person=person, sense=sense, key=key)


def someone(zh: str, en: str, pronoun: str, person: Person = "third", *, sense: str = "", key: str = "") -> Word:
    """A person: `obj`, `poss` ("Xiaoming's"), `own` ("his"), `mine` and `pronoun`."""
    nominative, objective, own, mine = _PRONOUNS[pronoun]
    is_pronoun = en == nominative
    genitive = f"{en}'" if en.endswith("s") else f"{en}'s"
    forms = {
        "obj": objective if is_pronoun else en,
        "poss": own if is_pronoun else genitive,
        "mine": mine if is_pronoun else genitive,
        "own": own,
        "pronoun": nominative,
    }
    return Word(zh, en, forms, person=person, sense=sense, key=key)


def adjective(zh: str, en: str, more: str = "", *, before: str = "", sense: str = "", key: str = "") -> Word:
    """An adjective; `before` is what stands ahead of the degree (水 in 水很多)."""
    return Word(zh, en, {"more": more or f"more {en}"}, {"before": before}, sense=sense, key=key)


def degree(zh: str, en: str, post: str = "") -> Word:
    return Word(zh, en, zh_forms={"post": post})


def article(noun_phrase: str) -> str:
    """Put "a" or "an" before a noun phrase."""
    return ("an " if noun_phrase[0].lower() in _VOWELS else "a ") + noun_phrase


_PRONOUNS = {
    "I": ("I", "me", "my", "mine"),
    "you": ("you", "you", "your", "yours"),
    "he": ("he", "him", "his", "his"),
    "she": ("she", "her", "her", "hers"),
    "we": ("we", "us", "our", "ours"),
    "they": ("they", "them", "their", "theirs"),
}


def _plural(en: str) -> str:
    if en.endswith(("s", "sh", "ch", "x")):
        return en + "es"
    if en.endswith("y") and en[-2] not in _VOWELS:
        return en[:-1] + "ies"
    return en + "s"


def _third_phrase(en: str) -> str:
    head, _, tail = en.partition(" ")
    return f"{_third(head)} {tail}".rstrip()


def _third(head: str) -> str:
    return head + "es" if head.endswith("o") else _plural(head)


def _regular_past(head: str) -> str:
    if head in _DOUBLED:
        return f"{head}{head[-1]}ed"
    if head.endswith("e"):
        return head + "d"
    if head.endswith("y") and head[-2] not in _VOWELS:
        return head[:-1] + "ied"
    return head + "ed"


def _ing(head: str) -> str:
    if head in _DOUBLED:
        return f"{head}{head[-1]}ing"
    if head.endswith("e") and head != "see":
        return head[:-1] + "ing"
    return head + "ing"
