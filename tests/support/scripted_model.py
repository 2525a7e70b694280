"""A model whose output is written down beforehand: what is around it can be judged without training one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tests.support.copy_run import copy_settings
from transduce.devices import ComputeConfig, resolve
from transduce.experiment import Experiment
from transduce.recipe import learn_tokenizers
from transduce.text.specials import EOS
from transduce.translator import Translator

Script = Callable[[list[int]], Iterable[int]]
"""From the ids of a source, without its end mark, to those of its output; one without end is never ended."""


@dataclass(frozen=True)
class Sources:
    rows: list[list[int]]


@dataclass(frozen=True)
class Place:
    """Each row's output with end marks behind it, and the step that comes next."""

    scripts: Tensor
    step: int = 0

    def select(self, rows: Tensor) -> Place:
        return Place(self.scripts.index_select(0, rows), self.step)


class ScriptedModel(nn.Module):
    """Gives the next token of the script nearly all probability, whatever was written before."""

    capabilities = frozenset({"encoder-decoder"})

    def __init__(self, script: Script, vocabulary: int, max_positions: int | None = None) -> None:
        super().__init__()
        self.script, self.vocabulary, self.max_positions = script, vocabulary, max_positions
        self.asked = 0
        """Sources read so far."""

    def encode(self, source: Tensor, lengths: Tensor) -> Sources:
        self.asked += len(source)
        return Sources([row[: n - 1].tolist() for row, n in zip(source, lengths.tolist(), strict=True)])

    def start(self, memory: Sources, capacity: int) -> Place:
        written = [list(islice(self.script(row), capacity)) for row in memory.rows]
        return Place(torch.tensor([row + [EOS] * (capacity - len(row)) for row in written]))

    def step(self, previous: Tensor, state: Place) -> tuple[Tensor, Place]:
        logits = torch.zeros(len(previous), self.vocabulary)
        logits.scatter_(1, state.scripts[:, state.step, None], 30.0)
        return logits, Place(state.scripts, state.step + 1)


def scripted(
    folder: Path, script: Callable[[Translator], Script], *, max_positions: int | None = None, **tables: Any
) -> Translator:
    """A translator with byte-level BPE, one vocabulary for both sides, whose model follows `script(translator)`.

    `tables` go over those of `copy_settings`.
    """
    tables = {"tokenizer": {"kind": "bpe", "vocabulary": 480, "minimum_count": 1}} | tables
    experiment = Experiment.model_validate(copy_settings(folder, pairs=211, unknown=0.0, **tables))
    tokenizers = learn_tokenizers(experiment)
    model = ScriptedModel(list, tokenizers.target.size, max_positions)
    translator = Translator([model], tokenizers, experiment, resolve(ComputeConfig(device="cpu", threads=1)))  # type: ignore[list-item]
    model.script = script(translator)
    return translator
