"""What the built-in corpus promises: size, splits, senses, agreement, alignment and the same text for ever."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from transduce.demo.corpus import (
    _RULES,
    DESCRIPTION_EN,
    DESCRIPTION_ZH,
    PROBE,
    SHOWCASE,
    SPLITS,
    _example,
    checksum,
    held_out,
    pairs,
)

EVERY = [example for split in SPLITS for example in pairs(split)]
TRAIN = pairs("train")
SOURCES = {split: {example.source for example in pairs(split)} for split in SPLITS}


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text)


def named(source: str):
    return next(example for example in EVERY if example.source == source)


def test_each_split_has_its_size_and_no_sentence_comes_twice() -> None:
    assert len(TRAIN) >= 9000
    assert [len(pairs(split)) for split in ("valid", "test", "long")] == [300, 400, 100]
    assert len({example.source for example in EVERY}) == len(EVERY)


def test_one_chinese_sentence_has_one_english_in_the_whole_grammar() -> None:
    meaning: dict[str, str] = {}
    for number, rule in enumerate(_RULES):
        draw = random.Random(number)
        for _ in range(min(rule.size, 211)):
            phrase = rule.derive(draw.randrange(rule.size))
            if phrase is not None:
                example = _example(phrase)
                assert meaning.setdefault(example.source, example.target) == example.target, example
    assert len(meaning) > 12_000


def test_what_test_and_valid_hold_out_occurs_in_no_training_sentence() -> None:
    trained = {combination for example in TRAIN for combination in example.combinations}
    validated = {combination for example in pairs("valid") for combination in example.combinations}
    for example in pairs("test"):
        new = {combination for combination in example.combinations if held_out(combination) == "test"}
        assert new and not new & trained and not new & validated, example
    for example in pairs("valid"):
        assert any(held_out(combination) == "valid" for combination in example.combinations)
        assert not any(held_out(combination) == "test" for combination in example.combinations)
    assert all(held_out(combination) == "train" for example in TRAIN for combination in example.combinations)


def test_the_article_s_sentence_is_held_out_and_can_be_learned() -> None:
    assert "我爱水课" in SOURCES["test"]
    assert not [s for split in ("train", "valid", "long") for s in SOURCES[split] if "我爱水课" in s]
    assert {"我爱数学课", "他爱水课", "我讨厌水课", "我喜欢水课"} <= SOURCES["train"]
    assert named("我爱水课").target == "I love easy courses"


def test_every_word_of_the_held_out_sentences_is_trained() -> None:
    characters = {character for example in TRAIN for character in example.source}
    vocabulary = {word for example in TRAIN for word in words(example.target)}
    assert not {c for example in EVERY for c in example.source} - characters
    assert not {w for example in EVERY for w in words(example.target)} - vocabulary


def test_vocabulary_is_modest_and_each_character_occurs_often() -> None:
    characters = Counter(character for example in TRAIN for character in example.source)
    vocabulary = Counter(word.lower() for example in TRAIN for word in words(example.target))
    assert len(characters) <= 450
    assert len(vocabulary) <= 900
    assert min(characters.values()) >= 15


def test_water_has_many_senses_each_often() -> None:
    senses = Counter(sense for example in TRAIN for sense in example.senses)
    assert sum(count >= 40 for count in senses.values()) >= 25
    wanted = "水课 喝水 水多 水平 薪水 水货 灌水 水果 水电费 墨水 口水 开水 汗水 香水 水军 洪水 水手 泪水 风水 水利"
    assert all(senses[sense] >= 40 for sense in wanted.split())


def test_lengths_and_long_sentences_that_exceed_all_of_training() -> None:
    lengths = [len(example.source) for example in TRAIN]
    assert min(lengths) == 3
    assert max(lengths) == 25
    assert all(25 < len(example.source) <= 42 for example in pairs("long"))
    assert max(len(example.source) for example in pairs("long")) >= 36


def test_the_corpus_is_the_same_in_every_process() -> None:
    program = "from transduce.demo.corpus import checksum; print(checksum())"
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "4099")
    }
    assert printed == {checksum()}
    assert re.fullmatch("[0-9a-f]{64}", checksum())


def test_a_caller_cannot_change_the_corpus() -> None:
    before = pairs("test")
    pairs("test").clear()
    assert pairs("test") == before


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("我爱水课", [("我", "I"), ("爱", "love"), ("水课", "easy courses")]),
        ("桥被洪水冲走了", [("桥", "bridge"), ("洪水", "the flood"), ("冲走", "washed away")]),
        (
            "她对薪水很满意",
            [("她", "She"), ("她", "her"), ("薪水", "salary"), ("很", "very"), ("满意", "satisfied with")],
        ),
        ("这西瓜水真多", [("这", "This"), ("西瓜", "watermelon"), ("水", "juicy"), ("真", "really"), ("多", "juicy")]),
        (
            "他们每天在论坛上灌水",
            [("他们", "They"), ("每天", "every day"), ("论坛上", "on the forum"), ("灌水", "post spam")],
        ),
    ],
)
def test_alignment_by_hand(source: str, expected: list[tuple[str, str]]) -> None:
    example = named(source)
    linked = [(source[a:b], example.target[c:d]) for a, b, c, d in example.alignment]
    assert linked == expected


def test_alignment_spans_are_whole_words_that_do_not_overlap() -> None:
    for example in EVERY:
        assert example.alignment, example
        taken_zh, taken_en = set(), set()
        for a, b, c, d in example.alignment:
            assert 0 <= a < b <= len(example.source) and 0 <= c < d <= len(example.target)
            assert (c == 0 or not example.target[c - 1].isalpha()) and not example.target[d : d + 1].isalpha()
            taken_zh.add((a, b))
            taken_en.add((c, d))
        for spans in (sorted(taken_zh), sorted(taken_en)):
            assert all(left[1] <= right[0] for left, right in pairwise(spans)), example


def test_english_is_well_formed() -> None:
    singular = r"(?:he|she|Xiaoming|Xiaohong|[Mm]y (?:roommate|classmate|mother|father|brother|sister))"
    verbs = "love|like|hate|want|drink|eat|think|know|write|sleep|do|have|study|prefer|buy|sell|post"
    third = "loves|likes|hates|wants|drinks|eats|thinks|knows|writes|sleeps|does|studies|prefers|buys|sells"
    adverb = "(?:(?:also|always|often|never|really) )?"
    wrong = [
        rf"(?:^|, |and |but |because ){singular} {adverb}(?:{verbs}|are|were|don't|haven't)\b",
        rf"\b(?:I|[Yy]ou|[Ww]e|[Tt]hey) {adverb}(?:{third}|doesn't|isn't|is|has)\b",
        r"\b[Aa] [aeiou]",
        r"\b[Aa]n [^aeiouE]",
        r"\b(?:two|three|four|five) (?:\w+ )?(?:course|bottle|glass|cup|apple|paper|letter)\b",
        r"\b(?:do|does|did|didn't|doesn't|don't|will|won't|can|can't|should|must|to) (?!required)\w+ed\b",
        r"\b(\w+) \1\b(?! one)",
        r"  |^ | $|\s[?,.]|[~{}\[\]|@]|'$",
    ]
    for example in EVERY:
        assert example.target[0].isupper(), example
        assert re.fullmatch(r"[A-Za-z',? ]+", example.target), example
        for pattern in wrong:
            assert not re.search(pattern, example.target), (pattern, example)


def test_chinese_is_well_formed() -> None:
    for example in EVERY:
        assert re.fullmatch(r"[\u4e00-\u9fff]+(?:，[\u4e00-\u9fff]+)*？?", example.source), example
        assert example.source.endswith("？") == example.target.endswith("?"), example
        question = re.search("吗|什么|谁|哪|多少|几", example.source)
        assert bool(question) == example.source.endswith("？"), example
        assert not re.search("了了|的的|很很|在在|不不", example.source), example


def test_the_showcase_is_held_out_and_begins_with_the_article() -> None:
    assert SHOWCASE[0].source == "我爱水课"
    assert 10 <= len(SHOWCASE) <= 12
    assert len({item.sense for item in SHOWCASE}) == len(SHOWCASE)
    test = {example.source: example for example in pairs("test")}
    for item in SHOWCASE:
        assert test[item.source].target == item.reference
        assert test[item.source].senses == (item.sense,)


def test_the_probe_is_the_place_of_section_2_9() -> None:
    assert (PROBE.source, PROBE.prefix, PROBE.right, PROBE.wrong) == ("我爱水课", "I love", "easy", "water")
    assert named(PROBE.source).target == f"{PROBE.prefix} {PROBE.right} courses"


def test_the_descriptions_say_that_it_is_synthetic() -> None:
    assert "synthetic" in DESCRIPTION_EN and "grammar" in DESCRIPTION_EN
    assert "合成" in DESCRIPTION_ZH and "语法" in DESCRIPTION_ZH
