"""Every model trains and translates by the same commands; what one cannot do is said, not tried."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.copy_run import copy_settings, load, sentences
from transduce.commands.prepare import memory_estimate
from transduce.errors import ConfigError
from transduce.experiment import Experiment
from transduce.models import Seq2SeqConfig
from transduce.recipe import build_model, learn_tokenizers, resume, train
from transduce.run_folder import RunFolder
from transduce.tasks.translate import Translate
from transduce.training.flops import flops_per_token, padded_tokens

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

MODELS: dict[str, dict[str, Any]] = {
    "seq2seq": {"kind": "seq2seq", "layers": 2, "d_model": 13, "dropout": 0.1},
    "rnn_search": {"kind": "rnn_search", "d_model": 14, "dropout": 0.1, "tie": "all"},
    "convs2s": {"kind": "convs2s", "encoder_layers": 1, "decoder_layers": 2, "d_model": 13, "tie": "target"},
    "bytenet": {"kind": "bytenet", "encoder_layers": 2, "decoder_layers": 3, "d_model": 26, "dropout": 0.1},
}
SHORT = {"batch_tokens": 300, "update_tokens": 600, "validate_every": 5, "save_every": 5, "log_every": 1}


def experiment(folder: Path, kind: str, updates: int = 10, **settings: Any) -> Experiment:
    training = {**SHORT, "max_updates": updates, "decay": "inverse_sqrt"}
    table = copy_settings(folder, pairs=211, training=training, validation={"sentences": 5})
    return Experiment.model_validate({**table, "model": MODELS[kind], **settings})


def attends(run: Path) -> bool:
    return "cross-attention" in RunFolder.open(run).experiment.model.capabilities


@pytest.fixture(scope="module", params=MODELS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    train(experiment(folder, request.param), folder / "run")
    return folder / "run"


def test_a_run_trains_and_translates(run: Path) -> None:
    translator = load(run)
    kind = RunFolder.open(run).experiment.model.kind
    assert kind == run.parent.name.rstrip("0123456789")
    found = translator.translate(["red blue", "", "cat"], alignment=True, nbest=2, max_extra=3)
    assert found[1].text == "" and all(len(t.alternatives) == 2 for t in (found[0], found[2]))
    assert [len(s.token_log_probabilities) for s in translator.score(["red"], ["blue red"])] == [3]
    for translation in found:
        assert len(translation.alignment) == (len(translation.text.split()) if attends(run) else 0)


def test_a_resumed_run_ends_as_one_that_went_through(run: Path, tmp_path: Path) -> None:
    kind = RunFolder.open(run).experiment.model.kind
    train(experiment(tmp_path, kind, updates=5), tmp_path / "run")
    resume(tmp_path / "run", ["training.max_updates=10"])
    ends = [(folder / "checkpoints/step-10/weights.safetensors").read_bytes() for folder in (run, tmp_path / "run")]
    assert ends[0] == ends[1]


def test_unknown_words_are_copied_only_where_a_model_attends(run: Path, copy_run: Path) -> None:
    translator = load(run)
    if attends(run):
        assert len(translator.translate(["red Zyxel"], unknown="copy")) == 1
        return
    with pytest.raises(ConfigError, match=r'decoding\.unknown = "copy" puts in the source word'):
        translator.translate(["red Zyxel"], unknown="copy")


def test_in_an_ensemble_the_members_that_attend_align(tmp_path: Path, copy_run: Path) -> None:
    table = RunFolder.open(copy_run).experiment.model_dump()
    table["training"] |= {"max_updates": 1, "validate_every": 1, "save_every": 1}
    train(Experiment.model_validate({**table, "model": MODELS["seq2seq"]}), tmp_path / "run")
    alone, both = load(copy_run), load(copy_run, tmp_path / "run")
    (expected,), (found,) = (t.translate(["red dog"], alignment=True, unknown="copy") for t in (alone, both))
    assert len(expected.alignment) == 2
    # A member that has learned nothing doesn't change the choice of words.
    unsure = [replace(link, probability=0.0) for link in found.alignment]
    assert found.text == expected.text and unsure == [replace(link, probability=0.0) for link in expected.alignment]
    assert all(a.probability < b.probability for a, b in zip(found.alignment, expected.alignment, strict=True))


@pytest.mark.parametrize("kind", MODELS)
def test_word_vectors_are_what_the_embedding_starts_from(tmp_path: Path, kind: str) -> None:
    width = MODELS[kind]["d_model"]
    vector = [i / 64 for i in range(width)]
    (tmp_path / "vectors.txt").write_text(f"1 {width}\nred {' '.join(map(str, vector))}\n", encoding="utf-8")
    given = experiment(tmp_path, kind, source_vectors=tmp_path / "vectors.txt")
    tokenizers = learn_tokenizers(given)
    row = build_model(given, tokenizers).source_embedding(torch.tensor(tokenizers.source.encode("red")))
    assert row[0].tolist() == pytest.approx(vector, rel=1e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_memory_is_estimated_from_the_models_own_answer(tmp_path: Path, kind: str) -> None:
    given = experiment(tmp_path, kind)
    parameters = sum(p.numel() for p in given.model.build(1009, 1009).parameters())
    short, long = (memory_estimate(given, (1009, 1009), length) for length in (10, 5000))
    assert short.startswith(f"model: {parameters:,} parameters; memory to expect in training: about ")
    # The additive score keeps a vector for each pair of places, and ConvS2S its weights.
    assert (short != long) == ("cross-attention" in given.model.capabilities)


@pytest.mark.slow
def test_attention_learns_where_each_copied_word_stands(tmp_path: Path) -> None:
    table = copy_settings(tmp_path) | {"model": {"kind": "rnn_search", "d_model": 32, "tie": "all"}}
    train(Experiment.model_validate(table), tmp_path / "run")
    translator = load(tmp_path / "run")
    given = sentences(31, seed=23)
    right = links = 0
    for translation in translator.translate(given, alignment=True):
        right += translation.text == translation.source
        # What comes after a word's space is the word.
        starts = [(link.source_start, link.target_start) for link in translation.alignment]
        links += sum(source == target + (target > 0) for source, target in starts)
    assert right >= 30
    assert links >= 0.9 * sum(len(text.split()) for text in given)


@pytest.mark.parametrize(("parts", "cell"), [(1, "rnn"), (3, "gru"), (4, "lstm")])
def test_operations_inside_a_cell_are_counted(parts: int, cell: str) -> None:
    """A product of n rows with a matrix of m numbers is 2nm operations, and twice that in the backward pass."""
    width, vocabulary, tokens = 17, 37, 8
    model = Seq2SeqConfig(cell=cell, layers=1, d_model=width).build(vocabulary, vocabulary)
    task = Translate()
    batch = task.batch([list(range(22, 22 + tokens - 1))], [list(range(22, 22 + tokens - 1))], [0])
    cells = 2 * 3 * 2 * tokens * parts * 2 * width**2
    # No gradient goes into the state of 0 before the source's first word.
    found = flops_per_token(model, task, batch) * padded_tokens(batch)
    assert found == cells + 3 * 2 * tokens * width * vocabulary - 2 * parts * width**2
