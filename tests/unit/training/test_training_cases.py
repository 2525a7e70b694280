"""Reported faults of training, by number, that have no other home."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.support.command import transduce
from tests.support.copy_run import WORDS, copy_settings, load, sentence, sentences, tiny_experiment, write_lines
from transduce.commands.progress import LEAST_GAIN
from transduce.errors import ConfigError, DataError, RunError
from transduce.experiment import Experiment
from transduce.experiment.load import complete, to_toml
from transduce.recipe import Watcher, load_experiment, resume, train
from transduce.recipe.recipe import FREE_TO_CHANGE
from transduce.run_folder import RunFolder
from transduce.tasks.losses import label_smoothed_cross_entropy
from transduce.tasks.translate import Translate
from transduce.text.specials import PAD, RESERVED
from transduce.training.validation import HeldOut, Validator
from transduce.translator import Translator

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("banned", [-1e4, -1e9, -1e30])
def test_case_70_a_target_that_was_given_no_probability_has_a_finite_loss(banned: float, smoothing: float) -> None:
    """Five words, of which the target's has the logit of a banned one: its probability is 0 in any float."""
    hidden = torch.tensor([[1.0], [1.0], [0.5]], requires_grad=True)
    projection = torch.tensor([[0.0], [banned], [2.0], [-1.0], [3.0]], requires_grad=True)
    expected = torch.tensor([1, 2, PAD])
    loss = label_smoothed_cross_entropy(hidden, projection, expected, smoothing)
    plain = F.cross_entropy(
        hidden.double() @ projection.double().T, expected, ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )
    assert loss.isfinite() and loss.item() == pytest.approx(plain.item(), rel=1e-5)
    loss.backward()
    for found, wanted in zip(
        (hidden.grad, projection.grad), torch.autograd.grad(plain, (hidden, projection)), strict=True
    ):
        assert found is not None and found.isfinite().all()
        torch.testing.assert_close(found, wanted.float(), rtol=1e-4, atol=1e-4)


def test_case_70_in_half_the_bits_too() -> None:
    """As under autocast on a CPU: bf16 has the range of fp32, and the logarithm is taken in fp32."""
    hidden = torch.tensor([[1.0], [1.0]], dtype=torch.bfloat16, requires_grad=True)
    projection = torch.tensor([[0.0], [-1e9], [2.0]], dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        loss = label_smoothed_cross_entropy(hidden, projection, torch.tensor([1, 2]), 0.1)
    loss.backward()
    assert loss.isfinite() and loss.dtype == torch.float32
    assert hidden.grad is not None and hidden.grad.isfinite().all()


class Ears(Watcher):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def noticed(self, what: str) -> None:
        self.notices.append(what)


def leaves(table: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the text, and a run of three updates."""
    folder = tmp_path_factory.mktemp("finished")
    torch.set_num_threads(1)
    train(tiny_experiment(folder, max_updates=3, save_every=1), folder / "run")
    return folder


def test_case_77_each_setting_is_refused_by_name_or_applied(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished / "run", run)
    keys = list(leaves(RunFolder.open(run).experiment.model_dump(mode="json")))
    assert len(keys) > 60
    for key in keys:
        if not key.startswith(FREE_TO_CHANGE):
            with pytest.raises(ConfigError, match=key.split(".")[-1]):
                resume(run, [f"{key}=1"])
    assert RunFolder.open(run).experiment == RunFolder.open(finished / "run").experiment
    changes = {
        "training.max_updates": 4, "training.max_epochs": 9, "training.max_minutes": 11.0, "training.patience": 7,
        "training.log_every": 3, "validation.sentences": 2, "compute.threads": 1,
    }  # fmt: skip
    assert {key for key in keys if key.startswith(FREE_TO_CHANGE)} >= set(changes)
    resume(run, [f"{key}={value}" for key, value in changes.items()])
    applied = RunFolder.open(run).experiment.model_dump()
    assert {key: applied[key.split(".")[0]][key.split(".")[1]] for key in changes} == changes


def test_case_85_a_sentence_above_the_budget_is_known_before_the_first_update(tmp_path: Path) -> None:
    """Left out with line and count, or reason to stop, as the filters say; a budget that lets one by is refused."""
    settings = tiny_experiment(tmp_path, max_updates=1).model_dump()
    lines = (tmp_path / "train.txt").read_text(encoding="utf-8").split("\n")[:-1]
    lines[6] = " ".join(["red"] * 300)
    write_lines(tmp_path / "train.txt", lines)
    settings["training"] |= {"batch_tokens": 61, "update_tokens": 61}
    train(Experiment.model_validate(settings), tmp_path / "run")
    report = json.loads((tmp_path / "run/data.json").read_text(encoding="utf-8"))["report"]["corpora"][0]
    assert report["dropped"] == {"too long": {"count": 1, "lines": [7]}}
    settings["data"]["filters"]["max_dropped"] = 0.0
    with pytest.raises(DataError, match=r"1 of 211 pairs would be left out(.|\n)*too long, line 7"):
        train(Experiment.model_validate(settings), tmp_path / "none")
    settings["training"]["batch_tokens"] = 60
    with pytest.raises(ValueError, match=r"max_length = 60 tokens and an end mark don't fit into .*batch_tokens = 60"):
        Experiment.model_validate(settings)


def test_case_91_a_run_never_learns_another_vocabulary(finished: Path, tmp_path: Path) -> None:
    """Continued on text with fewer words it would not fit: the text is refused, and the tokenizer left as it was."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    run = tmp_path / "run"
    settings = run / "experiment.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace(str(finished), str(tmp_path)), encoding="utf-8")
    before = (run / "tokenizer.json").read_bytes()
    write_lines(tmp_path / "train.txt", ["red blue"] * 50)
    with pytest.raises(RunError, match="the train text has changed since this run began"):
        resume(run, ["training.max_updates=4"])
    assert (run / "tokenizer.json").read_bytes() == before


@pytest.mark.parametrize("joint", [True, False])
def test_case_91_fine_tuning_keeps_the_vocabulary(tmp_path: Path, joint: bool) -> None:
    """The text that a run goes on with has three words; the run before it knows all, on either side."""
    training = {"max_updates": 1, "batch_tokens": 300, "update_tokens": 300}
    tables = {"tokenizer": {"kind": "word", "minimum_count": 1, "joint": joint}, "training": training}
    settings = copy_settings(tmp_path / "a", pairs=211, **tables)
    settings["model"]["tie"] = "all" if joint else "target"
    train(Experiment.model_validate(settings), tmp_path / "first")
    small = copy_settings(tmp_path / "b", pairs=211, **tables)
    write_lines(tmp_path / "b/train.txt", ["red blue", "cat"] * 100)
    del small["model"]
    small = json.loads(json.dumps(small, default=str))
    small |= {"initial": str(tmp_path / "first"), "model": {"tie": "all" if joint else "target"}}
    ears = Ears()
    train(complete(small, "small.toml", len).experiment, tmp_path / "second", ears)
    first, second = (RunFolder.open(tmp_path / name).tokenizers for name in ("first", "second"))
    assert second.fingerprint == first.fingerprint
    assert [n for n in ears.notices if n.startswith("weights from") and "afresh" not in n]
    small["tokenizer"]["vocabulary"] = 31
    with pytest.raises(ConfigError, match=r"vocabulary = 31, but the tokenizer .* taken over has 8000: leave it out"):
        train(complete(small, "small.toml", len).experiment, tmp_path / "third")


@pytest.mark.parametrize("same_size", [False, True])
def test_case_91_another_tokenizer_is_refused_with_both_sizes(finished: Path, tmp_path: Path, same_size: bool) -> None:
    """As many pieces, in another order, would load and translate into nonsense."""
    run = tmp_path / "run"
    shutil.copytree(finished / "run", run)
    path = run / "tokenizer.json"
    own = RunFolder.open(run).tokenizers.target.size
    content = json.loads(path.read_text(encoding="utf-8"))
    (pieces,) = [value for value in _lists(content) if len(value) == own - RESERVED]
    pieces.insert(0, pieces.pop()) if same_size else pieces.pop()
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    other = own - (not same_size)
    message = rf"trained with, which has {own} source and {own} target pieces; this one has {other} and {other}\. Put"
    for use in (lambda: resume(run, ["training.max_updates=4"]), lambda: Translator.load(run)):
        with pytest.raises(RunError, match=message):
            use()


def _lists(tree: Any) -> Iterator[list[Any]]:
    if isinstance(tree, list):
        yield tree
    elif isinstance(tree, dict):
        for value in tree.values():
            yield from _lists(value)


def test_case_92_what_the_source_is_worth_is_measured(copy_run: Path) -> None:
    copier = load(copy_run)
    texts = sentences(50, seed=92)

    def gain(sources: list[str], targets: list[str], **changes: Any) -> float | None:
        settings = copier.experiment.model_dump()
        settings["training"] |= changes
        experiment = Experiment.model_validate(settings)
        return Validator(HeldOut(sources, targets), copier.tokenizers, Translate(), experiment, copier.compute)(
            copier.models[0]
        ).source_gain

    straight = gain(texts, texts)
    assert straight is not None and straight > 3
    assert gain(texts, texts, batch_tokens=61) == pytest.approx(straight, rel=1e-4), "however they are batched"
    shifted = gain(texts, [*texts[1:], texts[0]])
    assert shifted is not None and abs(shifted) < 1
    assert gain(texts[:1], texts[:1]) is None
    model = copier.experiment.model.build(copier.tokenizers.source.size, copier.tokenizers.target.size)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    copier.models[0] = model.eval()
    assert gain(texts, texts) == pytest.approx(0.0, abs=1e-6), "a model that tells no word from another"


@pytest.mark.parametrize("tokenized", [False, True])
def test_case_136_a_test_set_that_looks_tokenised_is_told_before_training(tmp_path: Path, tokenized: bool) -> None:
    settings = tiny_experiment(tmp_path, max_updates=1).model_dump()
    lines = write_lines(tmp_path / "test.txt", [f"{line} ." for line in sentences(13, seed=136)])
    raw = write_lines(tmp_path / "raw.txt", sentences(13, seed=136))
    settings["data"]["test"] = {name: {"source": path, "target": path} for name, path in (("a", lines), ("b", raw))}
    settings["scoring"]["tokenized"] = tokenized
    ears = Ears()
    train(Experiment.model_validate(settings), tmp_path / "run", ears)
    told = [notice for notice in ears.notices if "look tokenised" in notice]
    assert [notice.split(" look")[0] for notice in told] == ["warning: the references of data.test.a"] * (not tokenized)


def test_case_98_text_that_needs_its_digits_translated_is_not_trained_without_the_switch(tmp_path: Path) -> None:
    """A tenth of the validation text may be signs that are written otherwise in the target language."""
    settings = tiny_experiment(tmp_path, max_updates=1).model_dump()
    sources = sentences(50, seed=98)
    target = write_lines(tmp_path / "valid.out", sources)
    for count, refused in ((5, False), (6, True)):
        source = write_lines(tmp_path / "valid.in", [f"{i}." for i in range(count)] + sources[count:])
        settings["data"]["valid"] = {"source": source, "target": target}
        experiment = Experiment.model_validate(settings)
        if not refused:
            train(experiment, tmp_path / "run")
            continue
        with pytest.raises(ConfigError, match=r"6 of 50 sources .* no letters .*pair 1\).* set it to .translate."):
            train(experiment, tmp_path / "refused")
        assert not (tmp_path / "refused").exists()
        settings["decoding"]["without_letters"] = "translate"
        train(Experiment.model_validate(settings), tmp_path / "refused")


def test_case_98_a_recipe_that_needs_it_has_the_switch() -> None:
    dates = load_experiment(Path(__file__).parents[3] / "experiments/dates_to_iso.toml").experiment
    assert dates.decoding.without_letters == "translate"


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0, 1])
def test_case_92_training_warns_that_the_text_may_be_shifted(tmp_path: Path, shift: int) -> None:
    """The same text, straight and with its targets moved by one line: after warm-up only the second is warned of."""
    training = {"max_updates": 200, "validate_every": 50, "save_every": 200, "warmup": 100}
    settings = copy_settings(tmp_path, training=training)
    rng = random.Random(92)
    for name, count in (("train", 3000), ("valid", 200)):
        lines = [sentence(rng, 9) for _ in range(count)]
        write_lines(tmp_path / f"{name}.txt", lines)
        target = write_lines(tmp_path / f"{name}.out", [*lines[shift:], *lines[:shift]])
        (settings["data"]["train"][0] if name == "train" else settings["data"]["valid"])["target"] = target
    (tmp_path / "e.toml").write_text(to_toml(Experiment.model_validate(settings)), encoding="utf-8")
    done = transduce("train", tmp_path / "e.toml", "--run", tmp_path / "run").succeeded()
    warning = "the model makes no use of what it reads. Are source and target aligned, line for line?"
    assert done.err.count(warning) == 3 * shift, "at updates 100, 150 and 200"
    assert ("the sides may be shifted against each other" in done.err) == bool(shift)
    assert LEAST_GAIN > 0 and len(WORDS) > 50
