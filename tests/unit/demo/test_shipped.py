"""The run that ships is the one that `transduce demo` makes today."""

from __future__ import annotations

import json

import pytest

from transduce.data.corpus import CorpusConfig, checksum
from transduce.demo.corpus import PROBE, SHOWCASE
from transduce.demo.shipped import EXPERIMENT, RUN
from transduce.recipe import BUILTINS, load_experiment
from transduce.run_folder import RunFolder
from transduce.translator import Translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(RUN)


def test_its_experiment_is_todays() -> None:
    assert RunFolder.open(RUN).experiment == load_experiment(EXPERIMENT).experiment


@pytest.mark.parametrize("split", ["train", "valid"])
def test_its_data_is_what_todays_generator_makes(split: str) -> None:
    recorded = json.loads((RUN / "data.json").read_bytes())["sha256"][split]
    assert recorded == checksum([CorpusConfig(builtin=f"demo-{split}")], builtins=BUILTINS)


def test_it_was_scored_on_todays_test_sets() -> None:
    tests = json.loads((RUN / "results.json").read_bytes())["tests"]
    splits = {"combinations": "demo-test", "longer": "demo-long"}
    assert tests.keys() == splits.keys()
    for name, builtin in splits.items():
        assert tests[name]["sha256"] == checksum([CorpusConfig(builtin=builtin)], builtins=BUILTINS)


def test_it_is_whole_and_small() -> None:
    RunFolder.open(RUN).weights().verify()
    assert sum(path.stat().st_size for path in RUN.rglob("*")) <= 4_000_000


def test_it_translates_the_articles_sentence(translator: Translator) -> None:
    assert translator.translate(["我爱水课"])[0].text == "I love easy courses"


def test_it_tells_what_water_is_in_sentences_it_never_saw(translator: Translator) -> None:
    results = translator.translate([item.source for item in SHOWCASE])
    right = sum(result.text == item.reference for result, item in zip(results, SHOWCASE, strict=True))
    assert right >= len(SHOWCASE) - 1


def test_the_article_s_sentence_is_four_tokens(translator: Translator) -> None:
    assert [piece.text for piece in translator.tokenizers.source.pieces(PROBE.source)] == list("我爱水课")


def test_its_journal_shows_easy_rise_over_water() -> None:
    events = [json.loads(line) for line in (RUN / "journal.jsonl").read_text(encoding="utf-8").split("\n") if line]
    probes = [event["probes"][0] for event in events if event["event"] == "validation"]
    assert len(probes) >= 5
    assert probes[-1][PROBE.right] > 0.8 > 0.1 > probes[-1][PROBE.wrong]
    assert probes[0][PROBE.right] < probes[-1][PROBE.right]
