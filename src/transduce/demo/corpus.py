"""The corpus that is always there: Chinese and English sentences of campus and everyday life.

What a split holds out are combinations, such as 我|爱|水课: subject, verb and object each occur in many
training sentences, but those three together in none, whatever the tense or the clause around them. So
the test asks whether a model has learned the rules, not whether it remembers the sentences.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from functools import cache
from typing import Literal

from transduce.demo.grammar import Phrase, Piece, Rule
from transduce.demo.topics import courses, food, nature, stories, study, things, work

Split = Literal["train", "valid", "test", "long"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test", "long")

DESCRIPTION_EN = (
    "A synthetic corpus: every sentence was made by a grammar written for this project, about campus and "
    "everyday life. Scores on it show that a model has learned the grammar, not that it can translate Chinese."
)
DESCRIPTION_ZH = (
    "这是一份人工合成的语料：每个句子都由专为本项目编写的语法生成，内容是校园和日常生活。"
    "在它上面的得分只说明模型学会了这套语法，不代表能翻译任意中文。"
)

_SEED = 20171206
_LONGEST = 25
"""Chinese characters of the longest training sentence at most."""
_VALID_SIZE, _TEST_SIZE, _LONG_SIZE = 300, 400, 100
_TEST_PERCENT, _VALID_PERCENT = 8, 4

_RULES: tuple[Rule, ...] = (
    *courses.RULES,
    *food.RULES,
    *study.RULES,
    *work.RULES,
    *nature.RULES,
    *things.RULES,
    *stories.RULES,
)


@dataclass(frozen=True)
class Example:
    """A sentence and its translation."""

    source: str
    """Chinese, without spaces."""
    target: str
    """English."""
    alignment: tuple[tuple[int, int, int, int], ...]
    """Phrases that translate each other: source start and end, target start and end, in characters."""
    senses: tuple[str, ...]
    """The senses and compounds of 水 in it."""
    combinations: tuple[str, ...]
    """What may be held out, as subject|verb|object."""


@dataclass(frozen=True)
class Showcase:
    """A held-out sentence that the demo translates, and what 水 is in it."""

    source: str
    reference: str
    sense: str


@dataclass(frozen=True)
class Probe:
    """The place where the article looks (section 2.9): what follows `prefix`, `right` or `wrong`?"""

    source: str
    prefix: str
    right: str
    wrong: str


PROBE = Probe("我爱水课", "I love", "easy", "water")

_HELD_FOR_SHOW = {
    "我|爱|水课": Showcase("我爱水课", "I love easy courses", "水课"),
    "我|喝|水": Showcase("我每天喝水", "I drink water every day", "喝水"),
    "这|西瓜|水多": Showcase("这西瓜水真多", "This watermelon is really juicy", "水多"),
    "他|提高|英语": Showcase("他的英语水平提高了", "His level of English has improved", "水平"),
    "她|满意|薪水": Showcase("她对薪水很满意", "She is very satisfied with her salary", "薪水"),
    "他|手机|水货": Showcase("他买的手机是水货", "The phone he bought is a gray import", "水货"),
    "他们|灌水": Showcase("他们每天在论坛上灌水", "They post spam on the forum every day", "灌水"),
    "我妈妈|吃|水果": Showcase("我妈妈每天吃水果", "My mother eats fruit every day", "水果"),
    "我室友|交|水电费": Showcase("我室友忘了交水电费", "My roommate forgot to pay the utility bills", "水电费"),
    "洪水|冲走|桥": Showcase("桥被洪水冲走了", "The bridge was washed away by the flood", "洪水"),
    "她|脸|泪水": Showcase("她的脸上都是泪水", "Her face is covered with tears", "泪水"),
    "小明|当|水手": Showcase("小明想当水手", "Xiaoming wants to be a sailor", "水手"),
}
SHOWCASE = tuple(_HELD_FOR_SHOW.values())


def held_out(combination: str) -> Split:
    """Name the split that a combination belongs to; it is the same in every sentence and process."""
    if combination in _HELD_FOR_SHOW:
        return "test"
    percent = int.from_bytes(hashlib.sha256(f"{_SEED}|{combination}".encode()).digest()[:4]) % 100
    if percent < _TEST_PERCENT:
        return "test"
    return "valid" if percent < _TEST_PERCENT + _VALID_PERCENT else "train"


def pairs(split: Split) -> list[Example]:
    """The examples of a split, distinct, in an order that is fixed for ever.

    `test` and `valid` consist of sentences with a combination that no training sentence has; `long` of
    sentences longer than any in training, out of combinations that training has.
    """
    return list(_splits()[split])


def checksum() -> str:
    """SHA-256 over the sentences of all splits, in order."""
    digest = hashlib.sha256()
    for split in SPLITS:
        for example in _splits()[split]:
            record = [split, example.source, example.target, example.alignment]
            digest.update(json.dumps(record, ensure_ascii=False).encode())
    return digest.hexdigest()


@cache
def _splits() -> dict[Split, tuple[Example, ...]]:
    order = random.Random(_SEED)
    found: dict[Split, list[Example]] = {split: [] for split in SPLITS}
    for example in _draw(_RULES, order):
        split = _home(example)
        if split is not None:
            found[split].append(example)
    for examples in found.values():
        order.shuffle(examples)
    shown = [item.source for item in SHOWCASE]
    found["test"].sort(key=lambda e: shown.index(e.source) if e.source in shown else len(shown))
    sizes: dict[Split, int] = {"valid": _VALID_SIZE, "test": _TEST_SIZE, "long": _LONG_SIZE}
    return {split: tuple(found[split][: sizes.get(split)]) for split in SPLITS}


def _home(example: Example) -> Split | None:
    """The split of a sentence; none where it is long and new at once, or new to two splits."""
    new = {held_out(combination) for combination in example.combinations} - {"train"}
    if len(example.source) > _LONGEST:
        return None if new else "long"
    if len(new) > 1:
        return None
    return new.pop() if new else "train"


def _draw(rules: tuple[Rule, ...], order: random.Random) -> list[Example]:
    """Draw each rule's share of sentences without replacement; a sentence that two rules make comes once."""
    drawn: dict[str, Example] = {}
    for rule in rules:
        numbers: dict[int, None] = dict.fromkeys(range(rule.size)) if rule.size <= rule.weight else {}
        while len(numbers) < min(rule.size, rule.weight):
            numbers[order.randrange(rule.size)] = None
        for number in numbers:
            phrase = rule.derive(number)
            if phrase is not None:
                drawn.setdefault(phrase.source, _example(phrase))
    return list(drawn.values())


def _example(phrase: Phrase) -> Example:
    target = "".join(piece.text for piece in phrase.en)
    zh, en = _spans(phrase.zh), _spans(phrase.en)
    alignment = sorted((*z, *e) for link, z in zh for other, e in en if link == other)
    return Example(
        phrase.source,
        target[0].upper() + target[1:],
        tuple(alignment),
        phrase.senses,
        tuple(dict.fromkeys(phrase.combinations)),
    )


def _spans(pieces: tuple[Piece, ...]) -> list[tuple[str, tuple[int, int]]]:
    """The linked pieces of one side with their places in the text."""
    spans, end = [], 0
    for piece in pieces:
        start, end = end, end + len(piece.text)
        if piece.link:
            spans.append((piece.link, (start, end)))
    return spans
