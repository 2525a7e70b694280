"""What the tests of the server share: a run that answers with its source."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch
from starlette.testclient import TestClient
from torch import Tensor

from tests.support.copy_run import load
from tests.support.scripted_model import Place, ScriptedModel, Sources, scripted
from tests.support.served import asking, served
from transduce.demo.shipped import RUN
from transduce.translator import Translator


class Copier(ScriptedModel):
    """Copies, and can be held at any step."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__(lambda ids: ids, vocabulary)
        self.batches: list[int] = []
        """Sources of each batch that was begun."""
        self.steps: list[int] = []
        """Rows of each step."""
        self.may_begin, self.may_step = threading.Event(), threading.Event()
        self.let_go()

    def let_go(self) -> None:
        self.may_begin.set()
        self.may_step.set()

    def reset(self) -> None:
        self.batches.clear()
        self.steps.clear()
        self.asked = 0
        self.let_go()

    def encode(self, source: Tensor, lengths: Tensor) -> Sources:
        self.batches.append(len(source))
        assert self.may_begin.wait(30)
        return super().encode(source, lengths)

    def step(self, previous: Tensor, state: Place) -> tuple[Tensor, Place]:
        self.steps.append(len(previous))
        assert self.may_step.wait(30)
        return super().step(previous, state)


@pytest.fixture(scope="session")
def copying(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    translator = scripted(tmp_path_factory.mktemp("copier"), lambda translator: list)
    torch.set_num_threads(1)
    model = Copier(translator.tokenizers.target.size)
    return Translator([model], translator.tokenizers, translator.experiment, translator.compute)  # type: ignore[list-item]


@pytest.fixture(scope="session")
def demo() -> Translator:
    """The run that ships."""
    return load(RUN)


@pytest.fixture
def copier(copying: Translator) -> Iterator[Translator]:
    """A run whose translation is its source, of any text."""
    model_of(copying).reset()
    yield copying
    model_of(copying).let_go()


@pytest.fixture
def client(copier: Translator) -> Iterator[TestClient]:
    with asking(served(copier)) as found:
        yield found


def model_of(translator: Translator) -> Copier:
    model = translator.model
    assert isinstance(model, Copier)
    return model
