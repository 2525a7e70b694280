"""What is measured on held-out text."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.copy_run import load, sentences
from transduce.devices import Compute
from transduce.errors import ConfigError
from transduce.evaluation.scores import score
from transduce.experiment import Experiment
from transduce.tasks.translate import Translate
from transduce.text.specials import EOS
from transduce.training.validation import HeldOut, Validation, Validator
from transduce.translator import Translator

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

CPU = Compute(torch.device("cpu"), "fp32", 1, 1)


@pytest.fixture(scope="module")
def copier(copy_run: Path) -> Translator:
    return load(copy_run)


def validator(copier: Translator, texts: list[str], **changes: Any) -> Validator:
    settings = copier.experiment.model_dump()
    settings["validation"] |= {key: value for key, value in changes.items() if key != "batch_tokens"}
    settings["training"] |= {key: value for key, value in changes.items() if key == "batch_tokens"}
    experiment = Experiment.model_validate(settings)
    return Validator(HeldOut(texts, texts), copier.tokenizers, Translate(), experiment, CPU)


def test_the_loss_is_the_mean_over_tokens(copier: Translator) -> None:
    texts = ["red", "blue cat on the hill .", "one two three"]
    found = validator(copier, texts)(copier.models[0])
    scored = copier.score(texts, texts)
    tokens = sum(len(text.split(" ")) + 1 for text in texts)
    assert found.loss == pytest.approx(-sum(s.log_probability for s in scored) / tokens, rel=1e-5)
    assert found.perplexity == pytest.approx(math.exp(found.loss))
    assert (found.bleu, found.chrf) == (None, None)


def test_the_loss_does_not_depend_on_the_batches(copier: Translator) -> None:
    texts = sentences(50, seed=3)
    losses = [validator(copier, texts, batch_tokens=n)(copier.models[0]).loss for n in (61, 300, 100_000)]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


def test_scores_are_those_of_a_real_translation(copier: Translator) -> None:
    texts = sentences(13, seed=4)
    found = validator(copier, texts, sentences=7, beam=2)(copier.models[0])
    outputs = [t.text for t in copier.translate(texts[:7], beam=2)]
    bleu, chrf = score(outputs, [texts[:7]], metrics=("bleu", "chrf"))
    assert (found.bleu, found.chrf) == (bleu.value, chrf.value)
    assert found.bleu is not None and found.bleu > 90


def test_the_mode_of_the_model_is_as_before(copier: Translator) -> None:
    model = copier.models[0]
    measure = validator(copier, ["red"], sentences=1)
    for training in (True, False):
        model.train(training)
        measure(model)
        assert all(module.training == training for module in model.modules())


def test_probes_give_the_probability_of_each_word(copier: Translator) -> None:
    probe = {"source": "red blue cat", "prefix": "red blue", "words": [" cat", " dog", " cat dog"]}
    (found,) = validator(copier, ["red"], probes=[probe])(copier.models[0]).probes
    assert list(found) == ["cat", "dog", "cat dog"]
    model = copier.models[0]
    source = copier.tokenizers.source.encode("red blue cat")
    batch = Translate().batch([source], [source + copier.tokenizers.source.encode("dog")], [0])
    with torch.inference_mode():
        logits = model(batch["source"].ids, batch["source"].lengths, batch["previous"].ids)
    p = logits.softmax(-1)[0]
    cat, dog = (copier.tokenizers.source.encode(word)[0] for word in ("cat", "dog"))
    assert found["cat"] == pytest.approx(float(p[2, cat]), rel=1e-4)
    assert found["dog"] == pytest.approx(float(p[2, dog]), rel=1e-3)
    assert found["cat dog"] == pytest.approx(float(p[2, cat] * p[3, dog]), rel=1e-3)
    assert found["cat"] > 0.7 and float(p[3, EOS]) > 0.5


def test_a_probe_that_does_not_continue_its_prefix_is_refused(copier: Translator) -> None:
    probe = {"source": "red", "prefix": "red", "words": ["blue"]}
    with pytest.raises(ConfigError, match="doesn't split 'redblue' after 'red'; let the word begin with its space"):
        validator(copier, ["red"], probes=[probe])


def test_what_is_raised() -> None:
    found = Validation(loss=2.5, bleu=11.0, chrf=13.0)
    assert [found.goodness(by) for by in ("loss", "bleu", "chrf")] == [-2.5, 11.0, 13.0]
    with pytest.raises(ConfigError, match=r"set validation\.sentences above 0"):
        Validation(loss=2.5).goodness("bleu")
    assert found.to_json() == {
        "loss": 2.5, "bleu": 11.0, "chrf": 13.0, "accuracy": None, "probes": [], "source_gain": None,
        "perplexity": math.exp(2.5),
    }  # fmt: skip
