"""What is measured on held-out text while training: loss, BLEU, chrF, and probabilities at chosen places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from transduce.devices import Compute
from transduce.errors import ConfigError
from transduce.evaluation.scores import score
from transduce.experiment import Experiment, ProbeConfig
from transduce.models.contract import Model
from transduce.search.config import DecodingConfig
from transduce.tasks import Task
from transduce.tasks.measure import Measure, measure, perplexity
from transduce.text.pair import Tokenizers


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Aligned source and target texts."""

    sources: Sequence[str]
    targets: Sequence[str]


@dataclass(frozen=True, slots=True)
class Validation:
    """Cross entropy in nats per target token without smoothing, and scores of a real translation."""

    loss: float
    bleu: float | None = None
    chrf: float | None = None
    probes: list[dict[str, float]] = field(default_factory=list)
    source_gain: float | None = None
    """Nats per token by which the loss is lower than with another sentence's source; None for a single sentence, and
    where there are no sources."""
    accuracy: float | None = None
    """Share of the target tokens, in percent, that are the model's first choice when it is told those before them."""

    @property
    def perplexity(self) -> float:
        """e^loss, per token of this run's own vocabulary: not comparable across tokenizers."""
        return perplexity(self.loss)

    def goodness(self, best_by: str) -> float:
        """The number that training tries to raise."""
        value = {"loss": -self.loss, "bleu": self.bleu, "chrf": self.chrf}[best_by]
        if value is None:
            raise ConfigError(f'training.best_by = "{best_by}" needs translations: set validation.sentences above 0')
        return value

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "perplexity": self.perplexity}


class Validator:
    """Measures a model on held-out text; the model's training mode is as before afterwards."""

    def __init__(
        self, held_out: HeldOut, tokenizers: Tokenizers, task: Task[Any], experiment: Experiment, compute: Compute
    ) -> None:
        self.task, self.tokenizers, self.experiment, self.compute = task, tokenizers, experiment, compute
        self.held_out = held_out
        self.sources = tokenizers.source.encode_batch(list(held_out.sources))
        self.targets = tokenizers.target.encode_batch(list(held_out.targets))
        self.probes = [self._probe_ids(probe) for probe in experiment.validation.probes]

    def __call__(self, model: Model) -> Validation:
        training = model.training
        model.eval()
        try:
            with torch.inference_mode(), self.compute.autocast():
                found = self.measure(model)
                exchangeable = "source" in self.task.streams and len(self.sources) > 1
                gain = self.measure(model, exchanged=True).loss - found.loss if exchangeable else None
                bleu, chrf = self._translate(model)
                probes = [self._probe(model, *ids) for ids in self.probes]
        finally:
            model.train(training)
        return Validation(found.loss, bleu, chrf, probes, gain, 100 * found.hits / found.tokens)

    def measure(self, model: Model, *, exchanged: bool = False) -> Measure:
        """Over all target tokens, end marks included; a batch at a time in memory.

        `exchanged` gives each sentence the source of the next one by length: a model that translates must then do
        worse, one that has only learned its target language does as well.
        """
        sources = self.sources
        if exchanged:
            order = sorted(range(len(sources)), key=lambda i: (len(self.targets[i]), len(sources[i])))
            others = dict(zip(order, order[1:] + order[:1], strict=True))
            sources = [sources[others[i]] for i in range(len(sources))]
        return measure(
            self.task,
            model,
            sources,
            self.targets,
            batch_tokens=self.experiment.training.batch_tokens,
            device=self.compute.device,
        )

    def _translate(self, model: Model) -> tuple[float | None, float | None]:
        settings = self.experiment.validation
        n = min(settings.sentences, len(self.sources))
        if n == 0 or not self.task.metrics:
            return None, None
        decoding = DecodingConfig.model_validate({**self.experiment.decoding.model_dump(), "beam": settings.beam,
                                                  "nbest": 1, "sample": False})  # fmt: skip
        found = self.task.decode(model, self.sources[:n], decoding, device=self.compute.device)
        outputs = [self.tokenizers.target.decode(hypotheses[0].ids) for hypotheses in found]
        bleu, chrf = score(
            outputs,
            [[self.tokenizers.target.plain(text) for text in self.held_out.targets[:n]]],
            language=self.experiment.target_language,
            scoring=self.experiment.scoring,
            metrics=("bleu", "chrf"),
        )
        return bleu.value, chrf.value

    def _probe_ids(self, probe: ProbeConfig) -> tuple[ProbeConfig, list[int], list[int], list[list[int]]]:
        """Ids of source, prefix, and each word's own pieces as they follow the prefix."""
        target = self.tokenizers.target
        prefix = target.encode(probe.prefix)
        words = []
        for word in probe.words:
            ids = target.encode(probe.prefix + word)
            if ids[: len(prefix)] != prefix or len(ids) == len(prefix):
                raise ConfigError(
                    f"validation.probes: the tokenizer doesn't split {probe.prefix + word!r} after {probe.prefix!r}; "
                    "let the word begin with its space"
                )
            words.append(ids[len(prefix) :])
        source = self.tokenizers.source.encode(probe.source)
        for word, ids in zip(probe.words, words, strict=True):
            (places,) = self.task.batch([source], [prefix + ids], [0])["expected"].lengths.tolist()
            if places < len(prefix) + len(ids):
                raise ConfigError(
                    f"validation.probes: {probe.prefix + word!r} has {len(prefix) + len(ids)} tokens, and on the task "
                    f'"{self.task.name}" {probe.source!r} has places for {places}: choose an earlier place'
                )
        return probe, source, prefix, words

    def _probe(
        self, model: Model, probe: ProbeConfig, source: list[int], prefix: list[int], words: list[list[int]]
    ) -> dict[str, float]:
        """P(word | source, prefix): the product over the word's pieces."""
        batch = self.task.batch([source] * len(words), [prefix + word for word in words], range(len(words)))
        rows = self.task.token_log_probabilities(model, batch.to(self.compute.device))
        return {
            text.strip(): math.exp(sum(row[len(prefix) : len(prefix) + len(word)]))
            for text, word, row in zip(probe.words, words, rows, strict=True)
        }
