"""The encoder half and the decoder half, from text to what each is for, by the same commands as translation."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.command import InProcess
from tests.support.copy_run import load, write_lines
from tests.support.counting_run import WORDS, counting, settings, train_counting_run
from transduce.errors import ConfigError, InputError
from transduce.experiment import Experiment
from transduce.experiment.load import load as load_experiment
from transduce.experiment.load import to_toml
from transduce.recipe import Watcher, build_model, learn_tokenizers, resume, train
from transduce.recipe.initial import start_from
from transduce.run_folder import RunFolder
from transduce.search import DecodingConfig
from transduce.training.journal import read_journal
from transduce.translator import Translator, fill, generate, vectors

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

SHORT = {"validate_every": 5, "save_every": 5, "decay": "inverse_sqrt"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("halves")
    updates = {"mask": 400, "generate": 250, "classify": 250}
    return {task: train_counting_run(folder / task, task, max_updates=n) for task, n in updates.items()}


@pytest.fixture(scope="module")
def filler(runs: dict[str, Path]) -> Translator:
    return load(runs["mask"])


@pytest.fixture(scope="module")
def writer(runs: dict[str, Path]) -> Translator:
    return load(runs["generate"])


@pytest.fixture(scope="module")
def classifier(runs: dict[str, Path]) -> Translator:
    return load(runs["classify"])


def scores(run: Path) -> dict[str, float]:
    results = json.loads((run / "results.json").read_bytes())
    return {score["name"]: score["value"] for score in results["tests"]["held-out"]["scores"]}


# Blanks


def test_blanks_are_filled_with_what_counts(filler: Translator) -> None:
    (one, two) = fill(filler, ["three five seven [MASK] zero", "[MASK] one two three [MASK]"], top_k=3)
    assert one.text == "three five seven nine zero" and two.text == "zero one two three four"
    assert [len(choices) for choices in (*one.blanks, *two.blanks)] == [3, 3, 3]
    best = one.blanks[0][0]
    assert best.token == "nine" and best.text == one.text and best.probability > 0.9
    assert two.blanks[1][0].text == two.text
    for choices in (*one.blanks, *two.blanks):
        probabilities = [choice.probability for choice in choices]
        assert probabilities == sorted(probabilities, reverse=True) and sum(probabilities) <= 1 + 1e-6
        assert len({choice.text for choice in choices}) == 3
    (alone,) = fill(filler, ["three five seven [MASK] zero"], top_k=3)
    assert [c.probability for c in alone.blanks[0]] == pytest.approx([c.probability for c in one.blanks[0]], abs=1e-5)


def test_what_cannot_be_filled_is_refused(filler: Translator, writer: Translator) -> None:
    with pytest.raises(InputError, match=r"text 3 has no blank: put \[MASK\] where a word is missing"):
        fill(filler, ["[MASK]", "one"], first=1)
    with pytest.raises(ConfigError, match='trained to "generate", so it can\'t fill: use transduce generate'):
        fill(writer, ["[MASK]"])
    with pytest.raises(ConfigError, match="top_k = 0"):
        fill(filler, ["[MASK]"], top_k=0)
    with pytest.raises(InputError, match="text 1 has 40 tokens, more than the 29"):
        fill(filler, ["[MASK] " * 40])


def test_fill_answers_line_for_line(runs: dict[str, Path], cli: InProcess) -> None:
    given = b"three five seven [MASK]\n[MASK] one two three [MASK]\n"
    done = cli("fill", "--run", str(runs["mask"]), "--top-k", "1", "--threads", "1", stdin=given).succeeded()
    rows = [line.split("\t") for line in done.lines]
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("1", "1", "three five seven nine"),
        ("2", "1", "zero one two three four"),
        ("2", "2", "zero one two three four"),
    ]
    done = cli("fill", "three five seven [MASK]", "--run", str(runs["mask"]), "--jsonl", "--threads", "1")
    (found,) = map(json.loads, done.succeeded().lines)
    assert found["line"] == 1 and found["text"] == "three five seven nine" and len(found["blanks"][0]) == 5
    cli("fill", "one two", "--run", str(runs["mask"])).refused("text 1 has no blank")
    cli("translate", "one two", "--run", str(runs["mask"])).refused("use transduce fill")


def test_texts_that_count_alike_have_like_vectors(filler: Translator, writer: Translator) -> None:
    texts = ["one two three", "two three four five", "one four seven", ""]
    for pooling in ("mean", "first"):
        found = vectors(filler, texts, pooling=pooling)  # type: ignore[arg-type]
        assert found.shape == (4, 32) and np.isfinite(found).all()
        alone = np.concatenate([vectors(filler, [text], pooling=pooling) for text in texts])  # type: ignore[arg-type]
        np.testing.assert_allclose(found, alone, atol=1e-5)
    with pytest.raises(ConfigError, match="encoder, such as bert"):
        vectors(writer, texts)


def test_vectors_of_lines(runs: dict[str, Path], cli: InProcess, filler: Translator, tmp_path: Path) -> None:
    texts = ["one two three", "", "two three four five"]
    expected = vectors(filler, texts)
    run = ("--run", str(runs["mask"]), "--threads", "1")
    rows = cli("vectors", *texts, *run).succeeded().lines
    np.testing.assert_allclose([[float(x) for x in row.split("\t")] for row in rows], expected, rtol=1e-4, atol=1e-5)
    (tmp_path / "text").write_text("".join(f"{text}\n" for text in texts))
    unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    where = ("--file", str(tmp_path / "text"), "--batch", "2", "-o", str(tmp_path / "x.npy"))
    assert cli("vectors", *where, *run, "--normalize").succeeded().lines == []
    found = np.load(tmp_path / "x.npy")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, unit, atol=1e-5)
    assert cli("vectors", *run, "--pooling", "first", stdin=b"").succeeded().lines == []
    cli("vectors", "one", *run, "--pooling", "max").refused("--pooling max: expected mean or first")
    cli("vectors", "one", "--run", str(runs["generate"])).refused("encoder, such as bert")
    cli("vectors", "one", *run, "-o", str(tmp_path / "no" / "x.npy")).refused("cannot be written")
    many = tmp_path / "many"
    many.write_text("one\n" * 4 + "one " * 4000 + "\n")
    cli("vectors", "--file", str(many), "--batch", "2", "-o", str(tmp_path / "y.npy"), *run).refused("text 5 ")
    assert not list(tmp_path.glob("*y.npy*"))


# Language model


def test_a_prompt_goes_on_counting_and_is_told_as_it_comes(writer: Translator) -> None:
    told: list[str] = []
    found = generate(writer, "three five seven", hear=told.append, max_extra=4, min_length=7)
    assert found.text == "three five seven nine zero two four" and found.tokens == 4 and not found.finished
    assert told == ["three five seven", " nine", " zero", " two", " four"]
    # What was told is what search finds, whatever listens.
    assert generate(writer, "three five seven", max_extra=4, min_length=7) == found
    at_the_end: list[str] = []
    beam = generate(writer, "three five seven", hear=at_the_end.append, max_extra=4, min_length=7, beam=3)
    assert at_the_end == ["three five seven", " nine zero two four"] and beam.text == found.text


def test_sampling_follows_from_seed_and_number(writer: Translator) -> None:
    options: dict[str, Any] = {"sample": True, "temperature": 3.0, "max_extra": 9, "min_length": 9}
    found = [generate(writer, "", number=n, seed=seed, **options).text for n, seed in ((0, 1), (0, 1), (1, 1), (0, 2))]
    assert found[0] == found[1] and len(set(found)) == 3
    told: list[str] = []
    assert generate(writer, "", number=1, seed=1, hear=told.append, **options).text == "".join(told) == found[2]


def test_log_probability_is_of_what_follows(writer: Translator) -> None:
    short = generate(writer, "three five", max_extra=1, min_length=3)
    longer = generate(writer, "three five", max_extra=2, min_length=4)
    assert longer.text.startswith(short.text)
    assert short.log_probability == pytest.approx(
        writer.score([""], ["three five seven"])[0].token_log_probabilities[2], abs=1e-4
    )
    assert longer.log_probability < short.log_probability


def test_generate_streams_and_says_what_was_cut(runs: dict[str, Path], cli: InProcess, tmp_path: Path) -> None:
    run = ["--run", str(runs["generate"]), "--threads", "1"]
    done = cli("generate", "three five seven", "one two", *run, "--max-tokens", "1").succeeded()
    assert done.lines[0] in ("three five seven nine", "three five seven")
    assert done.lines[1] in ("one two three", "one two")
    prompts = write_lines(tmp_path / "prompts.txt", ["one two three", "zero"])
    done = cli("generate", "--file", str(prompts), *run, "--jsonl", "--seed", "3", "--max-tokens", "2")
    first, second = map(json.loads, done.succeeded().lines)
    assert first["prompt"] == "one two three" and second["line"] == 2 and second["text"].startswith("zero")
    cli("generate", "one", "--run", str(runs["mask"])).refused('trained to "mask"')
    cli("translate", "one", *run).refused("use transduce generate")


def test_perplexity_is_told_per_token_byte_and_word(runs: dict[str, Path], writer: Translator, cli: InProcess) -> None:
    test = runs["generate"].parent / "test.txt"
    texts = test.read_text(encoding="utf-8").splitlines()
    nats = -sum(s.log_probability for s in writer.score([""] * len(texts), texts))
    words, size = sum(len(text.split()) for text in texts) + len(texts), test.stat().st_size
    found = scores(runs["generate"])
    assert found["perplexity per word"] == pytest.approx(math.exp(nats / words), rel=1e-4)
    assert found["perplexity per byte"] == pytest.approx(math.exp(nats / size), rel=1e-4)
    # A word vocabulary: a token is a word, and its end is one too.
    assert found["perplexity per token"] == found["perplexity per word"] < 3
    done = cli("evaluate", "--run", str(runs["generate"]), "--test", str(test), "--jsonl", "--threads", "1")
    told = {score["name"]: score["value"] for score in json.loads(done.succeeded().lines[0])["scores"]}
    assert told == pytest.approx(found, rel=1e-6)
    cli("evaluate", str(test), "--run", str(runs["generate"]), "--test", str(test)).refused(
        'a run trained to "generate" is measured on the test alone'
    )


def test_a_masked_word_run_is_measured_at_its_blanks(runs: dict[str, Path]) -> None:
    found = scores(runs["mask"])
    assert set(found) == {"accuracy", "perplexity per token"} and found["accuracy"] > 90
    (last,) = (e for e in read_journal(runs["mask"] / "journal.jsonl") if e.get("update") == 400 and "bleu" in e)
    assert last["bleu"] is None and last["source_gain"] is None and last["accuracy"] > 90


# Labels


def test_texts_are_told_what_they_do(classifier: Translator, runs: dict[str, Path], cli: InProcess) -> None:
    pairs = counting(100, seed=5)
    found = [t.text for t in classifier.translate([text for text, _ in pairs])]
    assert sum(a == label for a, (_, label) in zip(found, pairs, strict=True)) >= 97
    (three,) = classifier.translate(["one two three"], nbest=3)
    assert three.alternatives[0].text == "in steps of 1" and len(three.alternatives) == 3
    assert sum(math.exp(a.log_probability) for a in three.alternatives) == pytest.approx(1, abs=0.05)
    assert scores(runs["classify"])["exact"] >= 95
    test = runs["classify"].parent / "test"
    done = cli("evaluate", f"{test}.label", "--run", str(runs["classify"]), "--test", f"{test}.txt", "--threads", "1")
    assert [line.split()[0] for line in done.succeeded().lines] == ["exact", "60"]
    cli("evaluate", "--run", str(runs["classify"]), "--test", f"{test}.txt").refused("files of its references")


def test_fine_tuning_starts_from_every_weight_that_fits(runs: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(
        to_toml(Experiment.model_validate(settings(tmp_path, "classify", max_updates=1, **SHORT))), encoding="utf-8"
    )
    given = load_experiment(tmp_path / "experiment.toml", [f"initial={runs['mask']}"], lambda _: 0).experiment
    tokenizers = learn_tokenizers(given)
    before = RunFolder.open(runs["mask"])
    assert tokenizers.source.encode(" ".join(WORDS)) == before.tokenizers.source.encode(" ".join(WORDS))
    model, pretrained = build_model(given, tokenizers), before.model()
    fresh = model.projection.detach().clone()
    assert start_from(model, runs["mask"]) == f"weights from {runs['mask']}; what starts afresh: projection"
    assert torch.equal(model.source_embedding.weight, pretrained.source_embedding.weight)  # type: ignore[arg-type]
    assert torch.equal(model.encoder[1].feed_forward.W_1.weight, pretrained.encoder[1].feed_forward.W_1.weight)  # type: ignore[index, union-attr]
    assert torch.equal(model.projection, fresh)

    heard: list[str] = []

    class Listening(Watcher):
        def noticed(self, what: str) -> None:
            heard.append(what)

    train(given, tmp_path / "run", Listening())
    assert heard[0].startswith(f"weights from {runs['mask']}")
    # The pretrained run may go: this one has all that it needs.
    shutil.copytree(tmp_path / "run", tmp_path / "moved")
    assert load(tmp_path / "moved").translate(["one two three"])[0].text.startswith("in steps")


def test_sizes_are_those_of_the_run_that_goes_on_and_others_are_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    table = settings(tmp_path, "classify", max_updates=1, **SHORT)
    del table["model"], table["tokenizer"]
    path = tmp_path / "experiment.toml"
    path.write_text(to_toml(Experiment.model_validate(table)), encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    # As a user writes it: without what defaults fill in.
    short = text[: text.index("[tokenizer]")] + text[text.index("[training]") :]
    path.write_text(f'initial = "{runs["mask"]}"\n{short}', encoding="utf-8")
    found = load_experiment(path, [], lambda _: 0).experiment
    assert (found.model.kind, found.model.d_model, found.model.tie) == ("bert", 32, "none")
    assert (found.tokenizer.kind, found.tokenizer.target_kind, found.tokenizer.joint) == ("word", "line", False)
    wider = load_experiment(path, ["model.d_model=36"], lambda _: 0).experiment
    with pytest.raises(ConfigError, match=r"initial = .*: its weight .* of another shape: leave \[model\] out"):
        train(wider, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    other = load_experiment(path, ["tokenizer.nfkc=true"], lambda _: 0).experiment
    with pytest.raises(ConfigError, match=r"tokenizer.nfkc = True, but the tokenizer that is taken over has False"):
        train(other, tmp_path / "run")
    with pytest.raises(ConfigError, match=r"initial = .*nowhere: no run folder is there"):
        load_experiment(path, [f"initial={tmp_path}/nowhere"], lambda _: 0)


# All of them


@pytest.mark.parametrize("task", ["mask", "generate", "classify"])
def test_a_resumed_run_ends_as_one_that_went_through(tmp_path: Path, task: str) -> None:
    for name, updates in (("whole", 10), ("parts", 5)):
        table = settings(tmp_path / name, task, max_updates=updates, **SHORT)
        table["model"] |= {"dropout": 0.1}
        train(Experiment.model_validate(table), tmp_path / name / "run")
    resume(tmp_path / "parts/run", ["training.max_updates=10"])
    ends = [tmp_path / name / "run/checkpoints/step-10/weights.safetensors" for name in ("whole", "parts")]
    assert ends[0].read_bytes() == ends[1].read_bytes()


def test_what_a_task_needs_is_said(tmp_path: Path, cli: InProcess) -> None:
    for task, changes, words in (
        ("translate", {}, 'task = "translate" learns from pairs, and'),
        ("generate", {"tokenizer": {"joint": False}}, 'task = "generate" needs tokenizer.joint = True, not False'),
        ("generate", {"model": {"kind": "bert"}}, 'model.kind = "bert" can\'t do task = "generate"'),
        ("mask", {"decoding": {"beam": 2}}, "decoding.beam = 2 has no effect"),
        (
            "mask",
            {"validation": {"probes": [{"source": "one", "prefix": "two", "words": ["three"]}]}},
            "validation.probes follow words of a target",
        ),
    ):
        table = {**settings(tmp_path, "mask"), "task": task, **changes}
        if task == "translate":
            del table["model"]
        with pytest.raises(ValueError, match=re.escape(words)):
            Experiment.model_validate(table)
    assert Experiment.model_validate(settings(tmp_path, "generate")).decoding == DecodingConfig(beam=1)
    assert cli("fill", "[MASK]").code == 2
