"""From a file and `--set` to an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from transduce.data.corpus import CorpusConfig
from transduce.errors import ConfigError
from transduce.experiment.load import Loaded, load, parse, to_toml

LEAST = """
[data]
train = [{ source = "text/train.zh", target = "../train.en" }]
valid = { tsv = "valid.tsv" }
test = { news = { jsonl = "/abs/test.jsonl" } }
"""


def count(corpora: Sequence[CorpusConfig]) -> int:
    return 7


def read(folder: Path, text: str, *settings: str) -> Loaded:
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, settings, count)


def refused(folder: Path, text: str, *settings: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, text, *settings)
    assert caught.value.exit_code == 2
    message = str(caught.value)
    assert "validation error" not in message and "pydantic" not in message
    return message


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    experiment = read(folder, 'source_vectors = "vectors.txt"\n' + LEAST).experiment
    train = experiment.data.train[0]
    assert (train.source, train.target) == (folder / "text/train.zh", tmp_path / "a/train.en")
    assert experiment.data.valid.tsv == folder / "valid.tsv"
    assert experiment.data.test["news"].jsonl == Path("/abs/test.jsonl")
    assert experiment.source_vectors == folder / "vectors.txt"


def test_a_preset_is_chosen_by_size_or_taken_as_asked(tmp_path: Path) -> None:
    chosen = read(tmp_path, LEAST)
    assert chosen.experiment.preset == "tiny"
    assert chosen.reason.startswith("`tiny`: 7 training pairs are under 100,000")
    asked = read(tmp_path, 'preset = "big"\n' + LEAST)
    assert asked.experiment.model.d_model == 1024
    assert asked.reason == "`big` was asked for"


def test_no_corpus_is_read_where_a_preset_is_named_or_something_else_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"

    def never(corpora: Sequence[CorpusConfig]) -> int:
        raise AssertionError("read")

    path.write_text('preset = "small"\n' + LEAST)
    assert load(path, [], never).experiment.preset == "small"
    path.write_text("[model]\nheads = 0\n" + LEAST)
    with pytest.raises(ConfigError, match="heads"):
        load(path, [], never)


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("training.seed=2", "training.seed", 2),
        ("training.learning_rate=1e-3", "training.learning_rate", 1e-3),
        (" training.warmup = 31 ", "training.warmup", 31),
        ("compute.device=cpu", "compute.device", "cpu"),
        ('compute.device="cpu"', "compute.device", "cpu"),
        ("name=a=b", "name", "a=b"),
        ("model.residual=false", "model.residual", False),
        ("target_language=pt-BR", "target_language", "pt-BR"),
        ("preset=small", "preset", "small"),
    ],
)
def test_set(tmp_path: Path, setting: str, key: str, value: object) -> None:
    found: object = read(tmp_path, "[training]\nseed = 1\n" + LEAST, setting).experiment
    for name in key.split("."):
        found = getattr(found, name)
    assert found == value


def test_the_last_set_counts(tmp_path: Path) -> None:
    assert read(tmp_path, LEAST, "training.seed=2", "training.seed=3").experiment.training.seed == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`data` is missing"),
        ("[data]\ntrain = []\n", "`data.valid` is missing"),
        ("[data]\ntrain = []\nvalid = { tsv = 'x' }", "`data.train` = []: "),
        ("x = ", "not valid TOML"),
        ("trainning = 1\n" + LEAST, "unknown key `trainning`: did you mean `training`?"),
        ("[model]\ndmodel = 8\n" + LEAST, "unknown key `model.dmodel`: did you mean `d_model`?"),
        (
            "[training]\nlerning_rate = 8\n" + LEAST,
            "unknown key `training.lerning_rate`: did you mean `learning_rate`?",
        ),
        ("[data.filters]\nmaxlength = 3\n" + LEAST, "unknown key `data.filters.maxlength`: did you mean `max_length`?"),
        (
            "[compute]\nqqqq = 3\n" + LEAST,
            "unknown key `compute.qqqq`: known keys here: device, precision, processes, threads",
        ),
        ('preset = "huge"\n' + LEAST, "`preset` = 'huge': "),
        ('preset = ["tiny"]\n' + LEAST, "`preset` = ['tiny']: "),
        ("model = 3\n" + LEAST, "`model` = 3: "),
        ("[model]\nheads = 7\nd_model = 512\n" + LEAST, "heads = 7 does not divide d_model = 512"),
        ("[tokenizer]\njoint = false\n" + LEAST, 'model.tie = "all" shares one matrix'),
        (
            '[model]\nkind = "seq2seq"\ntie = "all"\n[tokenizer]\njoint = false\n' + LEAST,
            'model.tie = "all" shares one matrix',
        ),
        (
            '[model]\nkind = "seq2sek"\n' + LEAST,
            "`model.kind` = 'seq2sek': expected one of 'transformer', 'seq2seq', 'rnn_search'",
        ),
        ("[model]\nkind = 3\n" + LEAST, "`model.kind` = 3: expected one of 'transformer', "),
        (
            '[model]\nkind = "rnn_search"\natention = "dot"\n' + LEAST,
            "unknown key `model.atention`: did you mean `attention`?",
        ),
        # The keys of another kind are not known here.
        ('[model]\nkind = "seq2seq"\nd_ff = 7\n' + LEAST, "unknown key `model.d_ff`: known keys here: cell, d_model, "),
        (
            '[model]\nkind = "seq2seq"\n[decoding]\nunknown = "copy"\n' + LEAST,
            'decoding.unknown = "copy" needs a model that attends to the source, and "seq2seq" does not',
        ),
        ("[training]\nbatch_tokens = 250\n" + LEAST, "data.filters.max_length = 250 tokens and an end mark don't fit"),
        ("[training]\nseed = -1\n" + LEAST, "`training.seed` = -1: "),
        ('[training]\nbest_by = "bleu"\n[validation]\nsentences = 0\n' + LEAST, 'training.best_by = "bleu" needs'),
        ("[tokenizer]\nvocabulary = 277\n" + LEAST, "byte-level BPE needs more than 277"),
        ("[tokenizer]\nvocabulary = true\n" + LEAST, "`tokenizer.vocabulary` = True: "),
        ("[decoding]\nnbest = 5\n" + LEAST, "`nbest` = 5 is more than `beam` = 4"),
        (
            '[model]\npositions = "learned"\nmax_positions = 250\n' + LEAST,
            "model.max_positions = 250 positions don't hold data.filters.max_length = 250 tokens and an end mark",
        ),
        (
            '[model]\nkind = "feed_forward"\ninput = "concat"\n' + LEAST,
            "model.max_positions = 50 positions don't hold data.filters.max_length = 250 tokens: raise",
        ),
        (
            'task = "label"\n' + LEAST,
            'model.kind = "transformer" can\'t do task = "label": set model.kind to "feed_forward" or "rnn"',
        ),
        (
            'task = "translate"\n[model]\nkind = "rnn"\n' + LEAST,
            'model.kind = "rnn" can\'t do task = "translate": set model.kind to "transformer" or "seq2seq" or ',
        ),
        ('task = "lable"\n' + LEAST, "`task` = 'lable': Input should be 'translate'"),
        ('[model]\nkind = "rnn"\ntie = "target"\n' + LEAST, "`model.tie` = 'target': Input should be 'all' or 'none'"),
        (
            '[model]\nkind = "rnn"\n[decoding]\nbeam = 7\n' + LEAST,
            'decoding.beam = 7 has no effect on the task "label", whose output comes of one pass',
        ),
        ('[model]\nkind = "rnn"\n[validation]\nbeam = 4\n' + LEAST, "validation.beam = 4 has no effect on the task"),
        ("[training]\nseed = 'a'\nwarmup = 0\n" + LEAST, "; `training.warmup` = 0: "),
        ('[data]\ntrain = [{ source = "x" }]\nvalid = { tsv = "y" }', "`source` and `target` belong together"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    found = refused(tmp_path, text)
    assert message in found
    assert found.startswith(f"{tmp_path / 'experiment.toml'}: ")


def test_the_task_is_what_the_model_can_do_unless_another_is_named(tmp_path: Path) -> None:
    assert read(tmp_path, LEAST).experiment.task == "translate"
    labelling = read(tmp_path, '[model]\nkind = "rnn"\n[decoding]\nbeam = 1\n' + LEAST).experiment
    assert labelling.task == "label"
    assert parse(to_toml(labelling), "there") == labelling
    named = read(tmp_path, 'task = "label"\n[model]\nkind = "feed_forward"\n' + LEAST).experiment
    assert (named.task, named.model.kind) == ("label", "feed_forward")


def test_separate_vocabularies_need_another_tie(tmp_path: Path) -> None:
    text = '[tokenizer]\njoint = false\n[model]\ntie = "target"\n' + LEAST
    assert not read(tmp_path, text).experiment.tokenizer.joint


def test_a_batch_holds_the_longest_sentence_and_its_end_mark(tmp_path: Path) -> None:
    assert read(tmp_path, "[training]\nbatch_tokens = 251\n" + LEAST).experiment.training.batch_tokens == 251


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.seed", "expected KEY.KEY=VALUE"),
        ("=3", "expected KEY.KEY=VALUE"),
        ("training..seed=3", "expected KEY.KEY=VALUE"),
        ("name.x=3", "`name` is a value, not a table"),
        ("data.train.0=3", "`train` is a value, not a table"),
        ("training.sede=3", "did you mean `seed`?"),
        ("training.seed=two", "`training.seed` = 'two'"),
    ],
)
def test_what_is_wrong_in_set_is_named(tmp_path: Path, setting: str, message: str) -> None:
    assert message in refused(tmp_path, 'name = "n"\n' + LEAST, setting)


def test_files_that_are_none(tmp_path: Path) -> None:
    for name, content, message in (
        ("none.toml", None, "no such experiment file"),
        ("latin.toml", b'name = "caf\xe9"', "not UTF-8 (byte 11)"),
        ("utf16.toml", 'name = "x"'.encode("utf-16"), "not UTF-8 (byte 0)"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            load(tmp_path / name, [], count)
        assert message in str(caught.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, [], count)


def test_an_experiment_never_changes(tmp_path: Path) -> None:
    experiment = read(tmp_path, LEAST).experiment
    with pytest.raises(ValueError, match="frozen"):
        experiment.training.seed = 3  # type: ignore[misc]


def test_stored_settings_that_are_no_toml() -> None:
    with pytest.raises(ConfigError, match="there: not valid TOML"):
        parse("[[", "there")
