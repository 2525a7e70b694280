"""A trained member, with what it makes of the test sets."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from transduce.acceleration.inference import accelerate, has_native_code
from transduce.comparison.family import Planned
from transduce.demo.corpus import SPLITS, Example, pairs
from transduce.devices import resolve
from transduce.experiment import Experiment
from transduce.models.contract import Model
from transduce.recipe.text import read_texts
from transduce.run_folder import RunFolder
from transduce.search.hypothesis import Hypothesis
from transduce.translator import Translator

MOST = 500
"""Sentences of a test set whose outputs are looked at one by one at most, its first ones. Scores are of all."""
_NUMBERS = 2**23
"""Log-probabilities that are computed together at most: 32 MiB of them."""


@dataclass(frozen=True, slots=True)
class TestSet:
    """Sentences that no member was trained on."""

    name: str
    sources: Sequence[str]
    targets: Sequence[str]
    examples: Sequence[Example | None]
    """What the demo's grammar knows of each, where it has made them."""
    lines: int
    """Of the whole set."""

    __test__ = False


def read_tests(experiment: Experiment) -> list[TestSet]:
    """The experiment's test sets, each up to `MOST` lines."""
    known = {example.source: example for split in SPLITS for example in pairs(split)}
    found = []
    for name, corpus in experiment.data.test.items():
        every = read_texts(corpus)
        sources, targets = (texts[:MOST] for texts in every)
        made = [known.get(source) for source in sources]
        examples = [e if e is not None and e.target == t else None for e, t in zip(made, targets, strict=True)]
        found.append(TestSet(name, sources, targets, examples, len(every[0])))
    return found


class Subject:
    """What the measures look at: a run, and its outputs for the test sets, each made once.

    Every member is computed by PyTorch, so that times can be compared; native code, which few have, is timed apart.
    """

    def __init__(self, planned: Planned, run: Path, tests: Sequence[TestSet]) -> None:
        self.planned, self.run, self.tests = planned, run, tests
        folder, self.compute = RunFolder.open(run), resolve(planned.experiment.compute)
        self.translator = Translator([folder.model().eval()], folder.tokenizers, folder.experiment, self.compute)
        self.task, self.model = self.translator.task, self.translator.models[0]
        self.tokenizers = self.translator.tokenizers
        accelerate(self.model, self.compute, "none", native_code=False)

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
    def native_seconds(self) -> float | None:
        """That it takes by native code; None for a model that has none."""
        if not has_native_code(self.model, self.compute):
            return None
        fast = Translator.load(self.run, compute=self.planned.experiment.compute)
        return self._decode_all(fast.models[0])[1]

    @cached_property
    def _timed(self) -> tuple[list[list[Hypothesis]], float]:
        return self._decode_all(self.model)

    def _decode_all(self, model: Model) -> tuple[list[list[Hypothesis]], float]:
        sources = self.sources
        self._decode(model, sources[0][:8])
        started = time.perf_counter()
        return [self._decode(model, ids) for ids in sources], time.perf_counter() - started

    def decode(self, sources: Sequence[Sequence[int]]) -> list[Hypothesis]:
        """The best hypothesis for each source, with the run's own settings of decoding."""
        return self._decode(self.model, sources)

    def _decode(self, model: Model, sources: Sequence[Sequence[int]]) -> list[Hypothesis]:
        with self.compute.autocast():
            found = self.task.decode(model, sources, self.translator.decoding(), device=self.compute.device)
        return [hypotheses[0] for hypotheses in found]

    def text(self, output: Hypothesis) -> str:
        return self.tokenizers.target.decode(output.ids)

    def log_probabilities(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """log p of each target token that the task can write."""
        rows: list[list[float]] = [[] for _ in sources]
        for i, table, ids in self.distributions(sources, targets):
            rows[i] = table.gather(-1, ids[:, None])[:, 0].tolist()
        return rows

    def distributions(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, Float[Tensor, "m v"], Tensor]]:
        """For each pair, the shortest first: its number, log p of every token at each place of the target that the
        task can write, told those before it, and the ids that stand there (m,)."""
        order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), len(targets[i])))
        most = _NUMBERS // self.model.vocabulary
        while order:
            size = longest = 0
            for i in order:
                longest = max(longest, len(targets[i]) + 1)
                if size and (size + 1) * longest > most:
                    break
                size += 1
            chunk, order = order[:size], order[size:]
            batch = self.task.batch([sources[i] for i in chunk], [targets[i] for i in chunk], range(len(chunk)))
            expected = batch["expected"]
            with self.compute.autocast():
                table = self.task.log_probabilities(self.model, batch.to(self.compute.device)).cpu()
            for row, i in enumerate(chunk):
                m = int(expected.lengths[row])
                yield i, table[row, :m], expected.ids[row, :m]
