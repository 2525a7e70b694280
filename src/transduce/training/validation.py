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
from transduce.models.contract import EncoderDecoder
from transduce.search.config import DecodingConfig
from transduce.tasks.translate import Translate
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

    @property
    def perplexity(self) -> float:
        """e^loss, per token of this run's own vocabulary: not comparable across tokenizers."""
        return math.exp(min(self.loss, 700.0))

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
        self, held_out: HeldOut, tokenizers: Tokenizers, task: Translate, experiment: Experiment, compute: Compute
    ) -> None:
        self.task, self.tokenizers, self.experiment, self.compute = task, tokenizers, experiment, compute
        self.held_out = held_out
        self.sources = tokenizers.source.encode_batch(list(held_out.sources))
        self.targets = tokenizers.target.encode_batch(list(held_out.targets))
        self.probes = [self._probe_ids(probe) for probe in experiment.validation.probes]

    def __call__(self, model: EncoderDecoder) -> Validation:
        training = model.training
        model.eval()
        try:
            with torch.inference_mode(), self.compute.autocast():
                loss = self.loss(model)
                bleu, chrf = self._translate(model)
                probes = [self._probe(model, *ids) for ids in self.probes]
        finally:
            model.train(training)
        return Validation(loss, bleu, chrf, probes)

    def loss(self, model: EncoderDecoder) -> float:
        """Mean cross entropy over all target tokens, end marks included; a batch at a time in memory."""
        order = sorted(range(len(self.sources)), key=lambda i: (len(self.targets[i]), len(self.sources[i])))
        total, tokens = 0.0, 0
        while order:
            longest = max(len(self.targets[order[-1]]), len(self.sources[order[-1]])) + 1
            rows = max(1, self.experiment.training.batch_tokens // longest)
            order, chunk = order[:-rows], order[-rows:]
            batch = self.task.batch([self.sources[i] for i in chunk], [self.targets[i] for i in chunk], chunk)
            total += float(self.task.loss(model, batch.to(self.compute.device), 0.0))
            tokens += int(batch["expected"].lengths.sum())
        return total / tokens

    def _translate(self, model: EncoderDecoder) -> tuple[float | None, float | None]:
        settings = self.experiment.validation
        n = min(settings.sentences, len(self.sources))
        if n == 0:
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
        return probe, self.tokenizers.source.encode(probe.source), prefix, words

    def _probe(
        self, model: EncoderDecoder, probe: ProbeConfig, source: list[int], prefix: list[int], words: list[list[int]]
    ) -> dict[str, float]:
        """P(word | source, prefix): the product over the word's pieces."""
        batch = self.task.batch([source] * len(words), [prefix + word for word in words], range(len(words)))
        rows = self.task.token_log_probabilities(model, batch.to(self.compute.device))
        return {
            text.strip(): math.exp(sum(row[len(prefix) : len(prefix) + len(word)]))
            for text, word, row in zip(probe.words, words, rows, strict=True)
        }
