"""Stories with a question in the style of the bAbI tasks (Weston et al. 2015), made by code.

    Lina took the drum . Lina ran to the mill . Omar went to the pond . where is the drum ?  →  mill

A source is one line: sentences that end with ` . `, and the question. Its target is one word. There are four kinds:

- one-fact: where somebody is; the answer stands in one sentence of the story.
- two-facts: where a thing is; one sentence says who had it last, another where that was.
- yes-no: whether somebody is at a place.
- counting: how many things somebody holds.

No story is told twice, in any split, so that a test story was never seen with another question either.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, get_args

Split = Literal["train", "valid", "test"]
Kind = Literal["one-fact", "two-facts", "yes-no", "counting"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SEED = 1530
_COUNTS: dict[Split, int] = {"test": 250, "valid": 250, "train": 5000}
"""Stories of each kind."""
_PEOPLE = ("Lina", "Omar", "Pavel", "Yuki")
_PLACES = ("barn", "cellar", "mill", "pond", "tower", "well")
_THINGS = ("coin", "drum", "lamp", "map")
_GOING = ("went to", "walked to", "ran to")
_TAKING = ("took", "picked up")
_LEAVING = ("put down", "left")
_NUMBERS = ("none", "one", "two", "three", "four")


@dataclass
class World:
    """Who is where and has what, as far as the sentences so far tell."""

    told: list[str] = field(default_factory=list)
    """The sentences, without their full stops."""
    place: dict[str, str] = field(default_factory=dict)
    """Where each person that has moved is."""
    holder: dict[str, str] = field(default_factory=dict)
    """Who holds each thing that is held."""
    lies: dict[str, str] = field(default_factory=dict)
    """Where each thing lies that was put down."""

    def move(self, who: str, to: str, verb: str = _GOING[0]) -> None:
        self.told.append(f"{who} {verb} the {to}")
        self.place[who] = to

    def take(self, who: str, thing: str, verb: str = _TAKING[0]) -> None:
        self.told.append(f"{who} {verb} the {thing}")
        self.holder[thing] = who
        self.lies.pop(thing, None)

    def leave(self, who: str, thing: str, verb: str = _LEAVING[0]) -> None:
        self.told.append(f"{who} {verb} the {thing}")
        del self.holder[thing]
        self.lies[thing] = self.place[who]

    def held_by(self, who: str) -> list[str]:
        return [thing for thing, holder in self.holder.items() if holder == who]

    def where(self, thing: str) -> str | None:
        """The place of a thing; None if nobody has touched it."""
        return self.place[self.holder[thing]] if thing in self.holder else self.lies.get(thing)


@cache
def pairs(split: Split, kind: Kind | None = None) -> list[tuple[str, str]]:
    """Stories with their questions, and answers: of one kind, or of all in turn (20,000 to train, 1,000 each to
    validate and to test)."""
    return [(source, answer) for k, source, answer in _all()[split] if kind in (None, k)]


@cache
def _all() -> dict[Split, list[tuple[Kind, str, str]]]:
    generator = random.Random(_SEED)
    told: set[str] = set()
    result: dict[Split, list[tuple[Kind, str, str]]] = {}
    for split, count in _COUNTS.items():
        result[split] = []
        for kind in KINDS * count:
            while True:
                world = World()
                question, answer = _ASKED[kind](world, generator)
                story = " . ".join(world.told)
                if story not in told:
                    break
            told.add(story)
            result[split].append((kind, f"{story} . {question}", answer))
    return result


def _one_fact(world: World, generator: random.Random) -> tuple[str, str]:
    _wander(world, generator)
    who = generator.choice(list(world.place))
    return f"where is {who} ?", world.place[who]


def _two_facts(world: World, generator: random.Random) -> tuple[str, str]:
    _trade(world, generator, moving=0.55)
    thing = generator.choice([*world.holder, *world.lies])
    place = world.where(thing)
    assert place is not None
    return f"where is the {thing} ?", place


def _yes_no(world: World, generator: random.Random) -> tuple[str, str]:
    _wander(world, generator)
    who = generator.choice(list(world.place))
    place = world.place[who]
    if generator.random() < 0.5:
        place = generator.choice([p for p in _PLACES if p != place])
    return f"is {who} at the {place} ?", "yes" if place == world.place[who] else "no"


def _counting(world: World, generator: random.Random) -> tuple[str, str]:
    _trade(world, generator, moving=0.2)
    who = generator.choice(list(world.place))
    return f"how many things does {who} hold ?", _NUMBERS[len(world.held_by(who))]


_ASKED: dict[Kind, Callable[[World, random.Random], tuple[str, str]]] = {
    "one-fact": _one_fact,
    "two-facts": _two_facts,
    "yes-no": _yes_no,
    "counting": _counting,
}


def _wander(world: World, generator: random.Random) -> None:
    """Two to seven moves."""
    for _ in range(generator.randint(2, 7)):
        _walk(world, generator, generator.choice(_PEOPLE))


def _trade(world: World, generator: random.Random, *, moving: float) -> None:
    """Four to nine sentences, or a few more until something is taken: a share are moves, in the others things are taken
    and put down."""
    length = generator.randint(4, 9)
    while len(world.told) < length or not (world.holder or world.lies):
        who = generator.choice(_PEOPLE[:3])
        if who not in world.place or (len(world.told) < length and generator.random() < moving):
            _walk(world, generator, who)
            continue
        # A thing that lies somewhere is taken there only.
        free = [t for t in _THINGS if t not in world.holder and world.lies.get(t) in (None, world.place[who])]
        held = world.held_by(who)
        if held and (not free or generator.random() < 0.35):
            world.leave(who, generator.choice(held), generator.choice(_LEAVING))
        elif free:
            world.take(who, generator.choice(free), generator.choice(_TAKING))


def _walk(world: World, generator: random.Random, who: str) -> None:
    elsewhere = [place for place in _PLACES if place != world.place.get(who)]
    world.move(who, generator.choice(elsewhere), generator.choice(_GOING))
