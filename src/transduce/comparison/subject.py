"""A trained member, with what it makes of the test sets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from transduce.comparison.family import Planned
from transduce.demo.corpus import SPLITS, Example, pairs
from transduce.experiment import Experiment
from transduce.recipe.text import read_texts
from transduce.search.hypothesis import Hypothesis
from transduce.translator import Translator

MOST = 500
"""Sentences of a test set that are measured at most, its first ones."""


@dataclass(frozen=True, slots=True)
class TestSet:
    """Sentences that no member was trained on."""

    name: str
    sources: Sequence[str]
    targets: Sequence[str]
    examples: Sequence[Example | None]
    """What the demo's grammar knows of each, where it has made them."""

    __test__ = False


def read_tests(experiment: Experiment) -> list[TestSet]:
    """The experiment's test sets, or its validation text where it has none."""
    known = {example.source: example for split in SPLITS for example in pairs(split)}
    found = []
    for name, corpus in (experiment.data.test or {"validation": experiment.data.valid}).items():
        sources, targets = (texts[:MOST] for texts in read_texts(corpus))
        made = [known.get(source) for source in sources]
        examples = [e if e is not None and e.target == t else None for e, t in zip(made, targets, strict=True)]
        found.append(TestSet(name, sources, targets, examples))
    return found


class Subject:
    """What the measures look at: a run, and its outputs for the test sets, each made once."""

    def __init__(self, planned: Planned, run: Path, tests: Sequence[TestSet]) -> None:
        self.planned, self.run, self.tests = planned, run, tests
        self.translator = Translator.load(run, compute=planned.experiment.compute)
        self.task, self.model = self.translator.task, self.translator.models[0]
        self.tokenizers = self.translator.tokenizers

    @cached_property
    def sources(self) -> list[list[list[int]]]:
        """Ids of each test set's sources."""
        return [self.tokenizers.source.encode_batch(list(test.sources)) for test in self.tests]

    @cached_property
    def targets(self) -> list[list[list[int]]]:
        """Ids of each test set's references."""
        return [self.tokenizers.target.encode_batch(list(test.targets)) for test in self.tests]

    @cached_property
    def outputs(self) -> list[list[Hypothesis]]:
        """What it writes for each test set."""
        return self._timed[0]

    @cached_property
    def texts(self) -> list[list[str]]:
        """The same as text."""
        return [[self.text(output) for output in outputs] for outputs in self.outputs]

    @property
    def seconds(self) -> float:
        """That writing it took."""
        return self._timed[1]

    @cached_property
    def _timed(self) -> tuple[list[list[Hypothesis]], float]:
        sources = self.sources
        self.decode(sources[0][:8])
        started = time.perf_counter()
        return [self.decode(ids) for ids in sources], time.perf_counter() - started

    def decode(self, sources: Sequence[Sequence[int]]) -> list[Hypothesis]:
        """The best hypothesis for each source, with the run's own settings of decoding."""
        compute = self.translator.compute
        with compute.autocast():
            found = self.task.decode(self.model, sources, self.translator.decoding(), device=compute.device)
        return [hypotheses[0] for hypotheses in found]

    def text(self, output: Hypothesis) -> str:
        return self.tokenizers.target.decode(output.ids)

    def log_probabilities(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """log p of each target token that the task can write."""
        rows: list[list[float]] = []
        for start in range(0, len(sources), 64):
            part = slice(start, start + 64)
            batch = self.task.batch(sources[part], targets[part], range(len(sources[part])))
            rows += self.task.token_log_probabilities(self.model, batch.to(self.translator.compute.device))
        return rows
