"""The machine that makes the built-in corpus, on rules small enough to work out by hand."""

from __future__ import annotations

import pytest

from transduce.demo.grammar import Piece, rule
from transduce.demo.words import adjective, article, noun, someone, thing, verb

I = someone("我", "I", "I", "first")
SHE = someone("她", "she", "she")
THEY = someone("他们", "they", "they", "plural")
LOVE = verb("爱", "love")
TEA, COFFEE = thing("茶", "tea"), thing("咖啡", "coffee")


def sides(derived) -> tuple[str, str]:
    return derived.source, "".join(piece.text for piece in derived.en)


def test_derivations_are_numbered_without_gaps_or_repeats() -> None:
    likes = rule("{s}{v}{o}", "{s} {v@s} {o}", "s|v|o", s=(I, SHE, THEY), v=LOVE, o=(TEA, COFFEE))
    assert likes.size == 3 * 1 * 2
    assert [sides(likes.derive(number)) for number in range(6)] == [
        ("我爱茶", "I love tea"),
        ("她爱茶", "she loves tea"),
        ("他们爱茶", "they love tea"),
        ("我爱咖啡", "I love coffee"),
        ("她爱咖啡", "she loves coffee"),
        ("他们爱咖啡", "they love coffee"),
    ]
    assert likes.derive(4).combinations == ("她|爱|咖啡",)


def test_distinct_slots_never_hold_the_same_word() -> None:
    both = rule(
        "{s}爱{o}和{q}", "{s} {v@s} {o} and {q}", "s|爱|o", 9, "oq", s=I, v=LOVE, o=(TEA, COFFEE), q=(TEA, COFFEE)
    )
    made = [both.derive(number) for number in range(both.size)]
    assert [phrase and phrase.source for phrase in made] == [None, "我爱咖啡和茶", "我爱茶和咖啡", None]


def test_linked_pieces_translate_each_other_wherever_they_stand() -> None:
    paper = verb("写论文", "write ~ paper", key="写|论文")
    where = rule(
        "{s}[1常常]在{p}{v}", "{s} [1often] {v@s} {p}", "s|v", s=SHE, p=thing("图书馆", "in the library"), v=paper
    )
    made = where.derive(0)
    assert sides(made) == ("她常常在图书馆写论文", "she often writes her paper in the library")
    assert [p for p in made.zh if p.link] == [
        Piece("她", "s"),
        Piece("常常", "1"),
        Piece("图书馆", "p"),
        Piece("写论文", "v"),
    ]
    assert [p for p in made.en if p.link] == [
        Piece("she", "s"),
        Piece("often", "1"),
        Piece("writes her paper", "v"),
        Piece("in the library", "p"),
    ]
    assert made.combinations == ("她|写|论文",)


def test_a_clause_inside_a_clause_keeps_its_links_combinations_and_senses() -> None:
    water = thing("水", "water", sense="喝水")
    inner = rule("{s}{v}{o}", "{s} {v@s} {o}", "s|v|o", s=(I, SHE), v=LOVE, o=(TEA, water))
    outer = rule("{s}说{c}", "{s} {w@s} {c}", "", s=THEY, w=verb("说", "say"), c=inner)
    assert outer.size == 4
    made = outer.derive(3)
    assert sides(made) == ("他们说她爱水", "they say she loves water")
    assert made.combinations == ("她|爱|水",)
    assert made.senses == ("喝水",)
    assert Piece("她", "c.s") in made.zh and Piece("she", "c.s") in made.en


@pytest.mark.parametrize(
    ("person", "statement", "question"),
    [
        (I, "I am not happy", "am I happy?"),
        (SHE, "she isn't happy", "is she happy?"),
        (THEY, "they aren't happy", "are they happy?"),
    ],
)
def test_function_words_agree_with_their_subject(person, statement: str, question: str) -> None:
    happy = adjective("高兴", "happy")
    assert sides(rule("{s}不{a}", "{s} {not_be@s} {a}", "", s=person, a=happy).derive(0))[1] == statement
    assert sides(rule("{s}{a}吗？", "{be@s} {s} {a}?", "", s=person, a=happy).derive(0))[1] == question


@pytest.mark.parametrize(
    ("en", "third", "past", "done", "ing"),
    [
        ("love", "loves", "loved", "loved", "loving"),
        ("teach", "teaches", "taught", "taught", "teaching"),
        ("study English", "studies English", "studied English", "studied English", "studying English"),
        ("drop", "drops", "dropped", "dropped", "dropping"),
        ("do ~ homework", "does ~ homework", "did ~ homework", "done ~ homework", "doing ~ homework"),
        ("see", "sees", "saw", "seen", "seeing"),
        ("play", "plays", "played", "played", "playing"),
    ],
)
def test_verbs_are_inflected_at_their_first_word(en: str, third: str, past: str, done: str, ing: str) -> None:
    forms = verb("〇", en).forms
    assert (forms["base"], forms["third"], forms["past"], forms["done"], forms["ing"]) == (en, third, past, done, ing)


def test_a_habit_drops_the_possessive_and_still_agrees() -> None:
    paper = verb("写论文", "write ~ paper", generic="write papers")
    each = rule("{s}每天{v}", "{s} {v.usual@s} every day", "s|v", s=(I, SHE), v=paper)
    assert [sides(each.derive(n))[1] for n in (0, 1)] == ["I write papers every day", "she writes papers every day"]


def test_nouns_are_counted_by_themselves_or_by_their_vessel() -> None:
    course, perfume = noun("课", "easy course", cl="门"), noun("香水", "perfume", cl="瓶", unit="bottle")
    assert (course.en, course.forms["one"], course.forms["many"]) == ("easy courses", "an easy course", "easy courses")
    assert (perfume.en, perfume.forms["one"], perfume.forms["many"]) == (
        "perfume",
        "a bottle of perfume",
        "bottles of perfume",
    )
    assert [noun("〇", en).en for en in ("peach", "diary", "watch", "essay")] == [
        "peaches",
        "diaries",
        "watches",
        "essays",
    ]
    assert [article(en) for en in ("apple", "English course", "pear")] == ["an apple", "an English course", "a pear"]


def test_people_have_their_pronouns() -> None:
    mother, classmates = someone("我妈妈", "my mother", "she"), someone("同学们", "students", "they", "plural")
    assert [mother.forms[f] for f in ("obj", "poss", "own", "mine", "pronoun")] == [
        "my mother",
        "my mother's",
        "her",
        "my mother's",
        "she",
    ]
    assert classmates.forms["poss"] == "students'"
    assert [I.forms[f] for f in ("obj", "poss", "mine")] == ["me", "my", "mine"]
