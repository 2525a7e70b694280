"""Reported faults of decoding, by number: with a model whose output is known, what is around it must lose nothing."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.copy_run import load, sentences
from tests.support.scripted_model import Script, ScriptedModel, scripted
from transduce.data.batch import Stream
from transduce.devices import ComputeConfig, resolve
from transduce.errors import InputError
from transduce.models import TransformerConfig
from transduce.text.specials import EOS
from transduce.translator import Translator
from transduce.translator.results import most_in_a_row

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

APOLOGY = "I am so sorry "
TINY = [" ", "-", ".", "?", "7", "…"]
OTHER_SIGNS = ["3.14", "№ 5", "👍🏽", "(2)", "10:30–12:00", "１２", "。", "₤1,000", "\u200b", "²", " 7 \u3000"]


def apologising(translator: Translator) -> Script:
    """An apology without end, whatever the source."""
    ids = translator.tokenizers.target.encode(APOLOGY)
    return lambda source: cycle(ids)


def copying(times: int) -> Script:
    """Each token of the source so many times."""
    return lambda source: (id for id in source for _ in range(times))


@pytest.fixture(scope="module")
def apologist(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return scripted(tmp_path_factory.mktemp("apologist"), apologising)


@pytest.fixture(scope="module")
def copier(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return scripted(tmp_path_factory.mktemp("copier"), lambda translator: copying(1))


def asked(translator: Translator) -> int:
    (model,) = translator.models
    assert isinstance(model, ScriptedModel)
    return model.asked


@pytest.mark.parametrize("text", TINY + OTHER_SIGNS)
def test_case_98_text_without_letters_comes_back_unchanged(apologist: Translator, text: str) -> None:
    before = asked(apologist)
    (found,) = apologist.translate([text], nbest=2, beam=4)
    assert found.text == text
    assert asked(apologist) == before, "the model is not even asked"
    assert not found.truncated and not found.repetitive
    assert [t.text for t in apologist.translate([f"{text}\n{text}"])] == [f"{text}\n{text}"]


@given(text=st.text(st.characters(exclude_categories=["L", "Cs"], exclude_characters="\0\r\n"), max_size=13))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_case_98_so_does_any_other(apologist: Translator, text: str) -> None:
    before = asked(apologist)
    assert apologist.translate([text])[0].text == text
    assert asked(apologist) == before


@pytest.mark.parametrize("text", TINY[1:])
def test_case_98_a_switch_has_the_model_translate_it(apologist: Translator, text: str) -> None:
    source = len(apologist.tokenizers.source.encode(text))
    (found,) = apologist.translate([text], without_letters="translate", max_extra=7)
    assert found.text.startswith("I am") and len(apologist.tokenizers.target.encode(found.text)) <= source + 7
    assert found.truncated


def test_case_98_one_letter_makes_it_text(apologist: Translator) -> None:
    for text in ("7a", "水", "é", "- ж -"):
        assert apologist.translate([text])[0].text.strip().startswith("I am")


def test_case_103_repetition_is_flagged_and_bounded(apologist: Translator) -> None:
    text = "xq zz !!! 77 @@ кот"
    source = len(apologist.tokenizers.source.encode(text))
    for beam in (1, 4):
        (found,) = apologist.translate([text], beam=beam, max_extra=43)
        assert found.repetitive and found.truncated
        assert len(apologist.tokenizers.target.encode(found.text)) <= source + 43
        assert found.text.count(APOLOGY) >= 4
        (blocked,) = apologist.translate([text], beam=beam, max_extra=43, no_repeat_ngram=3)
        assert not blocked.repetitive
        assert blocked.text.count(APOLOGY) == 1


def test_case_103_what_the_source_repeats_is_no_fault(tmp_path: Path, copier: Translator) -> None:
    for text in ("red blue cat", "no no no", "ha ha ha ha ha ha ha", "no! " * 9 + "no!"):
        (found,) = copier.translate([text])
        assert found.text == text and not found.repetitive
    stutterer = scripted(tmp_path, lambda translator: copying(5))
    assert stutterer.translate(["red"])[0].repetitive
    assert stutterer.translate(["red\n7", "7"], max_extra=50)[0].repetitive, "one line of several is enough"


@given(st.lists(st.integers(0, 2), max_size=23))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_case_103_a_phrase_in_a_row_is_counted_like_a_regular_expression_does(ids: list[int]) -> None:
    text = "".join(map(str, ids))
    counted = [len(match[0]) // len(match[1]) for match in re.finditer(r"(?=((.+?)\2{3,}))", text) if match]
    repeats = [n for n in range(4, 24) if re.search(rf"(.+)\1{{{n - 1}}}", text)]
    assert most_in_a_row(ids) == max(repeats, default=1)
    assert bool(counted) == bool(repeats)


PARAGRAPH = " ".join(f"The {a} cat number {i} sees a dog." for i, a in enumerate(["red", "old", "big"] * 4, start=1))


def test_case_125_a_paragraph_of_twelve_sentences_comes_back_whole(copier: Translator) -> None:
    assert PARAGRAPH.count(".") == 12
    every: list[Any] = [{}, {"beam": 1}, {"max_extra": 0}, {"nbest": 3}, {"length_penalty": -1.0}]
    for options in every:
        (found,) = copier.translate([PARAGRAPH], **options)
        assert found.text == PARAGRAPH and not found.truncated


@given(
    count=st.integers(1, 12), times=st.integers(1, 4), max_extra=st.integers(0, 60), beam=st.sampled_from([1, 3]),
)  # fmt: skip
@settings(max_examples=60, deadline=None, derandomize=True)
def test_case_125_all_of_it_is_there_or_it_says_truncated(
    copier: Translator, count: int, times: int, max_extra: int, beam: int
) -> None:
    (model,) = copier.models
    text = " ".join(PARAGRAPH.split(". ")[:count])
    source = copier.tokenizers.source.encode(text)
    whole = copier.tokenizers.target.decode(copying(times)(source))
    model.script = copying(times)  # type: ignore[assignment]
    try:
        (found,) = copier.translate([text], max_extra=max_extra, beam=beam)
    finally:
        model.script = copying(1)  # type: ignore[assignment]
    assert found.truncated == ((times - 1) * len(source) > max_extra)
    assert found.text == whole or (found.truncated and whole.startswith(found.text.rstrip("\ufffd")))


def test_case_125_what_does_not_fit_is_refused_not_cut(tmp_path: Path) -> None:
    narrow = scripted(tmp_path, lambda translator: copying(1), max_positions=61)
    tokens = len(narrow.tokenizers.source.encode(PARAGRAPH))
    with pytest.raises(InputError, match=rf"text 2 has {tokens} tokens, more than the 60"):
        narrow.translate(["red", PARAGRAPH])


@pytest.mark.parametrize("limit", ["max_source", "positions"])
def test_case_86_the_longest_source_is_the_limit_without_the_end_mark(tmp_path: Path, limit: str) -> None:
    """Positions hold the end mark too; `max_source` doesn't count it."""
    words = scripted(
        tmp_path, lambda translator: copying(1), max_positions=14 if limit == "positions" else None,
        tokenizer={"kind": "word", "minimum_count": 1},
    )  # fmt: skip
    options: Any = {} if limit == "positions" else {"max_source": 13}
    for tokens in (12, 13):
        text = " ".join(["red"] * tokens)
        (found,) = words.translate([text], max_extra=0, **options)
        assert found.text == text and not found.truncated
    with pytest.raises(InputError, match=r"text 1 has 14 tokens, more than the 13 of decoding\.max_source"):
        words.translate([" ".join(["red"] * 14)], **options)


def test_case_131_what_follows_an_emoji_is_kept_with_the_default_settings(copier: Translator) -> None:
    given_ = ["Nice work 👍 see you tomorrow", "👩‍👧 red 🇧🇷 blue 👍🏽", "a\U0010ffffb <unk> c ⁇ d"]
    assert [t.text for t in copier.translate(given_)] == given_


def test_case_134_markup_comes_back_literally(copier: Translator) -> None:
    given_ = ['it\'s "fine" & <ok>', "it&apos;s &amp; @@ x@@ y ▁z", "l' eau , c' est"]
    assert [t.text for t in copier.translate(given_)] == given_


def test_case_134_a_run_is_the_same_under_each_name(
    copy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whatever path it is loaded, no other preparation of the text takes place."""
    text = 'it\'s "fine" & <ok>'
    (tmp_path / "link").symlink_to(copy_run)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    names: list[Path | str] = [copy_run, str(copy_run), f"{copy_run}/", "link", Path("inner/../link")]
    outputs = []
    for name in names:
        translator = Translator.load(name)
        outputs.append([t.text for t in translator.translate([text, "red & blue"], unknown="copy")])
    assert outputs == [[text, "red & blue"]] * len(names)
    assert not re.search("&apos;|&quot;|&amp;|@@|▁", "".join(outputs[0]))


def test_case_106_a_large_batch_gives_the_same_strings(copy_run: Path) -> None:
    translator = load(copy_run)
    lines = sentences(1024, seed=106, longest=4)
    together = [t.text for t in translator.translate(lines)]
    apart = [t.text for start in range(0, 1024, 8) for t in translator.translate(lines[start : start + 8])]
    assert together == apart
    assert sum(a == b for a, b in zip(together, lines, strict=True)) >= 1010


@pytest.mark.parametrize("short", ["4)", "1.", "x", "7 a", "-"])
def test_case_107_a_short_line_in_a_batch_is_what_it_is_alone(copy_run: Path, short: str) -> None:
    translator = load(copy_run)
    options: Any = {"unknown": "copy", "without_letters": "translate"}
    (alone,) = translator.translate([short], **options)
    long = "How to feed a cat on the hill near the old house ."
    for batch in ([short, long], [long, short], [short, long, "", short, long * 3]):
        found = translator.translate(batch, **options)
        for text, translation in zip(batch, found, strict=True):
            if text == short:
                assert translation.text == alone.text != ""
                assert translation.score == pytest.approx(alone.score, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
def test_case_116_nothing_follows_the_end_mark(copy_run: Path, alpha: float) -> None:
    lines = sentences(100, seed=116)
    found = [t.text for t in load(copy_run).translate(lines, length_penalty=alpha)]
    assert sum(a == b for a, b in zip(found, lines, strict=True)) >= 98


def test_case_94_dropout_is_off_straight_after_training_and_on_again_afterwards(copy_run: Path) -> None:
    """Nobody calls eval() between the updates and the translations; links and scores come from the model as well."""
    run = load(copy_run)
    settings_ = run.experiment.model.model_copy(update={"dropout": 0.4})
    assert isinstance(settings_, TransformerConfig)
    model = settings_.build(run.tokenizers.source.size, run.tokenizers.target.size)
    model.load_state_dict(run.models[0].state_dict())
    translator = Translator([model], run.tokenizers, run.experiment, resolve(ComputeConfig(device="cpu", threads=1)))
    lines = sentences(7, seed=94)
    model.eval()
    expected = translator.translate(lines, alignment=True), translator.score(lines, lines)
    model.train()
    for _ in range(3):
        stream = Stream.pad([[*ids, EOS] for ids in run.tokenizers.source.encode_batch(lines)])
        noisy = [model(stream.ids, stream.lengths, stream.ids) for _ in range(2)]
        assert not torch.equal(*noisy), "dropout is on"
        noisy[0].sum().backward()
        assert (translator.translate(lines, alignment=True), translator.score(lines, lines)) == expected
        assert all(module.training for module in model.modules())
