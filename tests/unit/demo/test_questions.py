"""The built-in questions: answered rightly, never twice the same story, no answer that everybody can guess."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from transduce.demo import questions
from transduce.demo.questions import KINDS, Kind, Split, World, pairs

SPLITS: tuple[Split, ...] = ("train", "valid", "test")
GOING = {"went", "walked", "ran"}


def test_a_world_by_hand() -> None:
    world = World()
    world.move("Omar", "pond")
    world.take("Omar", "lamp")
    world.move("Omar", "mill", "ran to")
    assert (world.where("lamp"), world.where("coin"), world.held_by("Omar")) == ("mill", None, ["lamp"])
    world.leave("Omar", "lamp")
    world.move("Omar", "pond")
    assert (world.where("lamp"), world.held_by("Omar")) == ("mill", [])
    assert world.told == [
        "Omar went to the pond", "Omar took the lamp", "Omar ran to the mill", "Omar put down the lamp",
        "Omar went to the pond",
    ]  # fmt: skip


def answer(source: str) -> str:
    """Found by reading."""
    *story, question = source.split(" . ")
    place: dict[str, str] = {}
    owner: dict[str, str] = {}
    spot: dict[str, str] = {}
    for sentence in story:
        who, verb, *_, last = sentence.split()
        if verb in GOING:
            place[who] = last
        elif verb in ("took", "picked"):
            assert spot.get(last, place[who]) == place[who], "nobody takes what is elsewhere"
            owner[last] = who
        else:
            assert owner.pop(last) == who, "nobody leaves what is another's"
        spot |= {thing: place[holder] for thing, holder in owner.items()}
        if verb not in GOING and last not in owner:
            spot[last] = place[who]
    words = question.split()
    assert words.pop() == "?"
    if words[0] == "is":
        return "yes" if place[words[1]] == words[-1] else "no"
    if words[0] == "how":
        return ("none", "one", "two", "three", "four")[list(owner.values()).count(words[4])]
    return place[words[2]] if words[2] in place else spot[words[3]]


@pytest.mark.parametrize("split", SPLITS)
def test_every_answer_follows_from_its_story(split: Split) -> None:
    assert all(answer(source) == target for source, target in pairs(split))


def test_sizes_and_form() -> None:
    assert [len(pairs(split)) for split in SPLITS] == [20_000, 1000, 1000]
    for kind in KINDS:
        assert len(pairs("test", kind)) == 250 and set(pairs("test", kind)) < set(pairs("test"))
    for source, target in pairs("test"):
        assert re.fullmatch(r"((\w+ )+\. ){2,12}(\w+ )+\?", source) and re.fullmatch(r"\w+", target)


def test_no_story_is_told_twice() -> None:
    stories = [source.rpartition(" . ")[0] for split in SPLITS for source, _ in pairs(split)]
    assert len(set(stories)) == len(stories) == 22_000


def test_no_kind_can_be_answered_without_reading() -> None:
    most: dict[Kind, float] = {"one-fact": 0.2, "two-facts": 0.2, "yes-no": 0.55, "counting": 0.5}
    for kind, share in most.items():
        counts = Counter(target for _, target in pairs("train", kind))
        assert counts.most_common(1)[0][1] <= share * counts.total()


@pytest.mark.parametrize("split", SPLITS)
def test_the_same_every_time(split: Split) -> None:
    first = list(pairs(split))
    pairs.cache_clear()
    questions._all.cache_clear()
    assert pairs(split) == first
