"""A trained run as a function from text to text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import ValidationError

from transduce.acceleration.inference import FORMS, Quantize, accelerate
from transduce.config import explain
from transduce.devices import Compute, ComputeConfig, resolve
from transduce.errors import ConfigError, InputError, RunError
from transduce.evaluation.scores import Score
from transduce.experiment import Experiment
from transduce.models.contract import Model
from transduce.run_folder import RunFolder
from transduce.search.config import DecodingConfig
from transduce.search.hypothesis import Hypothesis
from transduce.search.watching import Watch
from transduce.tasks import TASKS, Cost
from transduce.tasks.measure import measure
from transduce.text.lines import has_letter, safe, split_text, unbroken
from transduce.text.pair import Tokenizers
from transduce.text.specials import UNK
from transduce.text.vocabulary import one_line
from transduce.translator.alignment import attends, copies, cross_attention, links
from transduce.translator.results import (
    REPETITIVE,
    Alternative,
    Scored,
    Translation,
    join,
    most_in_a_row,
)

MEASURED_TOKENS = 4096
"""Padded tokens that are measured together at most."""


class Translator:
    """Text in, text out. Output i belongs to input i; what shares a batch doesn't matter."""

    def __init__(
        self, models: Sequence[Model], tokenizers: Tokenizers, experiment: Experiment, compute: Compute
    ) -> None:
        self.models = [model.to(compute.device) for model in models]
        self.tokenizers, self.experiment, self.compute = tokenizers, experiment, compute
        self.arithmetic: str = compute.precision
        """How products are computed, in words."""
        self.task = TASKS[experiment.task]
        self.model = self.models[0] if len(self.models) == 1 else self.task.ensemble(self.models)

    @classmethod
    def load(
        cls,
        *runs: Path | str,
        weights: str = "auto",
        compute: ComputeConfig | None = None,
        quantize: Quantize = "none",
    ) -> Self:
        """Load a run, or several that share a vocabulary, whose probabilities are then averaged.

        `weights` is average, best, last, or auto: the first of them that is there. The computer is
        chosen anew, not as in training, unless `compute` says how. `quantize="int8"` computes products in 8-bit
        integers where this machine can (`arithmetic` tells): faster, and approximate.
        Raises RunError for a folder that is no whole run.
        """
        if quantize not in FORMS:
            raise ConfigError(f"quantize = {quantize!r}: expected {' or '.join(FORMS)}")
        if not runs:
            raise RunError("no run folder was named")
        folders = [RunFolder.open(Path(run)) for run in runs]
        first = folders[0]
        for other in folders[1:]:
            if other.tokenizers.fingerprint != first.tokenizers.fingerprint:
                sizes = (other.tokenizers.target.size, first.tokenizers.target.size)
                raise RunError(
                    f"{other.path} has another vocabulary than {first.path}, {sizes[0]:,} target pieces and "
                    f"{sizes[1]:,}: an ensemble needs runs that learned theirs from the same text"
                )
            if other.experiment.task != first.experiment.task:
                raise RunError(
                    f'{other.path} was trained to "{other.experiment.task}" and {first.path} to '
                    f'"{first.experiment.task}": an ensemble needs one task'
                )
        models = [folder.model(weights).eval() for folder in folders]
        translator = cls(models, first.tokenizers, first.experiment, resolve(compute or ComputeConfig()))
        for model in translator.models:
            translator.arithmetic = accelerate(model, translator.compute, quantize)
        return translator

    def decoding(self, **options: Any) -> DecodingConfig:
        """The run's decoding settings with `options` laid over them. Raises ConfigError for a wrong one."""
        settings = {**self.experiment.decoding.model_dump(), **options}
        if "nbest" in options and "beam" not in options:
            settings["beam"] = max(settings["beam"], settings["nbest"])
        try:
            config = DecodingConfig.model_validate(settings)
        except ValidationError as error:
            raise explain(error, DecodingConfig, "decoding") from None
        self.task.check(config)
        return config

    def translate(
        self,
        texts: Sequence[str],
        *,
        prefixes: Sequence[str] | None = None,
        first: int = 0,
        alignment: bool = False,
        show_unknown: bool = False,
        watch: Watch | None = None,
        **options: Any,
    ) -> list[Translation]:
        """Translate texts. `options` are settings of `DecodingConfig`, such as beam=4 or nbest=5.

        A text of several lines is translated line by line, unless the task reads it as a whole; line endings and
        outer white space are kept, and a line without letters stays as it is, unless `without_letters` has the model
        translate all but blank ones.
        `prefixes` forces the beginning of what is translated (of texts of one line). `first` is the number of the
        first text in a longer stream: sampling is seeded by it. `alignment` adds links between words; there are none
        where no model attends to the source. `watch` looks on at each beam search, which knows the lines by their place
        among those of all texts.
        """
        if isinstance(texts, str):
            raise InputError("translate takes a list of texts, not one text: write translate([text])")
        self.refuse_another("translate")
        config = self.decoding(**options)
        if config.unknown == "copy" and not self.aligns:
            raise ConfigError(
                'decoding.unknown = "copy" puts in the source word that the model attends to, and this one attends to '
                'none: take "avoid" or "mark"'
            )
        lines = [self._lines(safe(text)) for text in texts]
        if prefixes is not None and (len(prefixes) != len(texts) or any(len(parts) > 1 for parts in lines)):
            raise InputError("prefixes: expected one for each text, and texts of one line each")
        owners = [i for i, parts in enumerate(lines) for _ in parts]
        contents = [content for parts in lines for content, _ in parts]
        every = config.without_letters == "translate"
        sources = self.tokenizers.source.encode_batch([c.strip() if every or has_letter(c) else "" for c in contents])
        self.refuse_long(sources, owners, first, config)
        forced = None if prefixes is None else self.tokenizers.target.encode_batch([prefixes[i] for i in owners])
        with self.compute.autocast():
            found = self.task.decode(
                self.model,
                sources,
                config,
                device=self.compute.device,
                prefixes=forced,
                sentence_ids=[first + i for i in owners],
                watch=watch,
            )
            done = iter(
                self._line(content, ids, hypotheses, alignment and self.aligns, config.unknown == "copy", show_unknown)
                for content, ids, hypotheses in zip(contents, sources, found, strict=True)
            )
            return [
                join(text, [next(done) for _ in parts], [ending for _, ending in parts])
                for text, parts in zip(texts, lines, strict=True)
            ]

    @property
    def aligns(self) -> bool:
        """Whether it can tell which piece of the source each piece of the output came from."""
        return any(map(attends, self.models))

    def _lines(self, text: str) -> list[tuple[str, str]]:
        """What of a text is asked for by itself, each with its line ending."""
        return [(unbroken(text), "")] if self.task.whole else split_text(text) or [("", "")]

    def refuse_another(self, command: str) -> None:
        """Raise ConfigError unless this run was trained for a command."""
        if self.task.command != command:
            raise ConfigError(
                f'this run was trained to "{self.task.name}", so it can\'t {command}: use transduce {self.task.command}'
            )

    def longest_source(self, config: DecodingConfig) -> int:
        """Tokens that a source may have."""
        return min(config.max_source, (self.model.max_positions or config.max_source + 1) - self.task.marks)

    def refuse_long(
        self, sources: Sequence[list[int]], owners: Iterable[int], first: int, config: DecodingConfig
    ) -> None:
        most = self.longest_source(config)
        advice = "shorten it" if self.task.whole else "split it into sentences, a line each"
        for i, source in zip(owners, sources, strict=True):
            if len(source) > most:
                raise InputError(
                    f"text {first + i + 1} has {len(source):,} tokens, more than the {most:,} of decoding.max_source "
                    f"or of the model's positions: {advice}"
                )

    def _line(
        self,
        content: str,
        source: list[int],
        hypotheses: list[Hypothesis],
        alignment: bool,
        copy_unknown: bool,
        show_unknown: bool,
    ) -> Translation:
        """Hypotheses of one line as text, with the white space around the line put back."""
        core = content.strip()
        at = content.index(core)
        before, after = content[:at], content[at + len(core) :]
        if not source:
            kept = before + one_line(self.tokenizers.target.plain(core)) + after
            return Translation(content, (Alternative(kept, 0.0, 0.0),))
        alternatives = []
        for hypothesis in hypotheses:
            words = None
            if copy_unknown and UNK in hypothesis.ids:
                weights = cross_attention(self.models, self.task, source, hypothesis.ids)
                words = copies(weights, self.tokenizers, core, hypothesis.ids)
            text = self.tokenizers.target.decode(hypothesis.ids, show_unknown=show_unknown, copies=words)
            alternatives.append(Alternative(before + text + after, hypothesis.score, hypothesis.log_probability))
        best = hypotheses[0]
        most = most_in_a_row(best.ids)
        repetitive = most >= REPETITIVE and most > most_in_a_row(source)
        cut = not best.finished or best.limited
        result = Translation(content, tuple(alternatives), truncated=cut, repetitive=repetitive)
        if not alignment or not best.ids:
            return result
        weights = cross_attention(self.models, self.task, source, best.ids)
        found = links(weights, self.tokenizers, core, best)
        return replace(result, alignment=tuple(link.moved(at, at) for link in found))

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Scored]:
        """log P of each given target, token by token, under a single run."""
        if len(sources) != len(targets):
            raise InputError(f"{len(sources)} sources and {len(targets)} targets: expected as many of each")
        if len(self.models) > 1:
            raise InputError("score takes one run, not an ensemble")
        source_ids = self.tokenizers.source.encode_batch([safe(text).strip() for text in sources])
        target_ids = self.tokenizers.target.encode_batch([safe(text).strip() for text in targets])
        results: dict[int, Scored] = {}
        order = sorted(range(len(sources)), key=lambda i: len(source_ids[i]) + len(target_ids[i]))
        for start in range(0, len(order), 64):
            chunk = order[start : start + 64]
            batch = self.task.batch([source_ids[i] for i in chunk], [target_ids[i] for i in chunk], chunk)
            with self.compute.autocast():
                rows = self.task.token_log_probabilities(self.models[0], batch.to(self.compute.device))
            for i, ids, row in zip(chunk, batch["expected"].ids.tolist(), rows, strict=True):
                pieces = tuple(self.tokenizers.target.piece_name(id) for id in ids[: len(row)])
                results[i] = Scored(pieces, tuple(row), cut=len(pieces) < len(target_ids[i]))
        return [results[i] for i in range(len(sources))]

    def measure(self, texts: Sequence[str]) -> list[Score]:
        """How well a single run tells texts, where that needs no references: accuracy and perplexities."""
        if len(self.models) > 1:
            raise InputError("measure takes one run, not an ensemble")
        texts = [safe(text).strip() for text in texts]
        ids = self.tokenizers.target.encode_batch(texts)
        self.refuse_long(ids, range(len(ids)), 0, self.experiment.decoding)
        with self.compute.autocast():
            found = measure(
                self.task, self.models[0], ids, ids, batch_tokens=MEASURED_TOKENS, device=self.compute.device
            )
        return found.scores(texts)

    def cost(self, sources: Sequence[str], targets: Sequence[str]) -> Cost | None:
        """What of some targets this run's task can never write, however well it does; None for nothing."""
        pairs = (("source", self.tokenizers.source, sources), ("target", self.tokenizers.target, targets))
        ids = {name: tokenizer.encode_batch([safe(t).strip() for t in texts]) for name, tokenizer, texts in pairs}
        return self.task.cost({name: np.array([len(row) for row in rows]) for name, rows in ids.items()})

    def unknown_share(self, texts: Iterable[str]) -> float:
        """Share of the pieces of some texts that the source vocabulary lacks, 0 to 1."""
        ids = [id for row in self.tokenizers.source.encode_batch([safe(text) for text in texts]) for id in row]
        return ids.count(UNK) / len(ids) if ids else 0.0
