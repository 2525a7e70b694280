"""A trained run as a function from text to text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from transduce.config import explain
from transduce.devices import Compute, ComputeConfig, resolve
from transduce.errors import ConfigError, InputError, RunError
from transduce.experiment import Experiment
from transduce.models.contract import EncoderDecoder, StepModel
from transduce.run_folder import RunFolder, load_weights
from transduce.search.config import DecodingConfig
from transduce.search.ensemble import Ensemble
from transduce.search.hypothesis import Hypothesis
from transduce.tasks.translate import Translate
from transduce.text.lines import safe, split_text
from transduce.text.pair import Tokenizers
from transduce.text.specials import EOS, NAMES, UNK
from transduce.translator.alignment import attends, copies, cross_attention, links
from transduce.translator.results import Alternative, Scored, Translation, join


class Translator:
    """Text in, text out. Output i belongs to input i; what shares a batch doesn't matter."""

    def __init__(
        self, models: Sequence[EncoderDecoder], tokenizers: Tokenizers, experiment: Experiment, compute: Compute
    ) -> None:
        self.models = [model.to(compute.device).eval() for model in models]
        self.model: StepModel = self.models[0] if len(self.models) == 1 else Ensemble(self.models)
        self.tokenizers, self.experiment, self.compute = tokenizers, experiment, compute
        self.task = Translate()

    @classmethod
    def load(cls, *runs: Path | str, weights: str = "auto", compute: ComputeConfig | None = None) -> Self:
        """Load a run, or several that share a vocabulary, whose probabilities are then averaged.

        `weights` is average, best, last, or auto: the first of them that is there. The computer is
        chosen anew, not as in training, unless `compute` says how.
        Raises RunError for a folder that is no whole run.
        """
        if not runs:
            raise RunError("no run folder was named")
        folders = [RunFolder.open(Path(run)) for run in runs]
        first = folders[0]
        for other in folders[1:]:
            if other.tokenizers.fingerprint != first.tokenizers.fingerprint:
                raise RunError(f"{other.path} has another vocabulary than {first.path}: an ensemble needs a shared one")
        models = []
        for folder in folders:
            model = folder.experiment.model.build(folder.tokenizers.source.size, folder.tokenizers.target.size)
            load_weights(model, folder.weights(weights))
            models.append(model)
        return cls(models, first.tokenizers, first.experiment, resolve(compute or ComputeConfig()))

    def decoding(self, **options: Any) -> DecodingConfig:
        """The run's decoding settings with `options` laid over them. Raises ConfigError for a wrong one."""
        settings = {**self.experiment.decoding.model_dump(), **options}
        if "nbest" in options and "beam" not in options:
            settings["beam"] = max(settings["beam"], settings["nbest"])
        try:
            return DecodingConfig.model_validate(settings)
        except ValidationError as error:
            raise explain(error, DecodingConfig, "decoding") from None

    def translate(
        self,
        texts: Sequence[str],
        *,
        prefixes: Sequence[str] | None = None,
        first: int = 0,
        alignment: bool = False,
        show_unknown: bool = False,
        **options: Any,
    ) -> list[Translation]:
        """Translate texts. `options` are settings of `DecodingConfig`, such as beam=4 or nbest=5.

        A text of several lines is translated line by line; line endings and outer white space are kept,
        and a blank line stays as it is. `prefixes` forces the beginning of each translation (of texts of
        one line). `first` is the number of the first text in a longer stream: sampling is seeded by it.
        `alignment` adds links between words; there are none where no model attends to the source.
        """
        if isinstance(texts, str):
            raise InputError("translate takes a list of texts, not one text: write translate([text])")
        config = self.decoding(**options)
        attending = any(map(attends, self.models))
        if config.unknown == "copy" and not attending:
            raise ConfigError(
                'decoding.unknown = "copy" puts in the source word that the model attends to, and this one attends to '
                'none: take "avoid" or "mark"'
            )
        lines = [split_text(safe(text)) or [("", "")] for text in texts]
        if prefixes is not None and (len(prefixes) != len(texts) or any(len(parts) > 1 for parts in lines)):
            raise InputError("prefixes: expected one for each text, and texts of one line each")
        owners = [i for i, parts in enumerate(lines) for _ in parts]
        contents = [content for parts in lines for content, _ in parts]
        sources = self.tokenizers.source.encode_batch([content.strip() for content in contents])
        self._refuse_long(sources, owners, first, config)
        forced = None if prefixes is None else self.tokenizers.target.encode_batch([prefixes[i] for i in owners])
        with self.compute.autocast():
            found = self.task.decode(
                self.model,
                sources,
                config,
                device=self.compute.device,
                prefixes=forced,
                sentence_ids=[first + i for i in owners],
            )
            done = iter(
                self._line(content, ids, hypotheses, alignment and attending, config.unknown == "copy", show_unknown)
                for content, ids, hypotheses in zip(contents, sources, found, strict=True)
            )
            return [
                join(text, [next(done) for _ in parts], [ending for _, ending in parts])
                for text, parts in zip(texts, lines, strict=True)
            ]

    def _refuse_long(self, sources: list[list[int]], owners: list[int], first: int, config: DecodingConfig) -> None:
        most = min(config.max_source, (self.model.max_positions or config.max_source + 1) - 1)
        for i, source in zip(owners, sources, strict=True):
            if len(source) > most:
                raise InputError(
                    f"text {first + i + 1} has {len(source):,} tokens, more than the {most:,} of decoding.max_source "
                    "or of the model's positions: split it into sentences, a line each"
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
        if not source:
            return Translation(content, (Alternative(content, 0.0, 0.0),))
        at = content.index(core)
        before, after = content[:at], content[at + len(core) :]
        alternatives = []
        for hypothesis in hypotheses:
            words = None
            if copy_unknown and UNK in hypothesis.ids:
                weights = cross_attention(self.models, self.task, source, hypothesis.ids)
                words = copies(weights, self.tokenizers, core, hypothesis.ids)
            text = self.tokenizers.target.decode(hypothesis.ids, show_unknown=show_unknown, copies=words)
            alternatives.append(Alternative(before + text + after, hypothesis.score, hypothesis.log_probability))
        best = hypotheses[0]
        result = Translation(content, tuple(alternatives), truncated=not best.finished)
        if not alignment or not best.ids:
            return result
        weights = cross_attention(self.models, self.task, source, best.ids)
        found = links(weights, self.tokenizers, core, best.ids)
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
            for i, row in zip(chunk, rows, strict=True):
                pieces = [self.tokenizers.target.piece_name(id) for id in target_ids[i]]
                results[i] = Scored((*pieces, NAMES[EOS]), tuple(row))
        return [results[i] for i in range(len(sources))]

    def unknown_share(self, texts: Iterable[str]) -> float:
        """Share of the pieces of some texts that the source vocabulary lacks, 0 to 1."""
        ids = [id for row in self.tokenizers.source.encode_batch([safe(text) for text in texts]) for id in row]
        return ids.count(UNK) / len(ids) if ids else 0.0
