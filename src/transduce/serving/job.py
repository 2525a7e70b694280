"""A request while it is worked on: its texts, sentence by sentence where its run's task lets them be cut."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from transduce.serving.refusal import Refusal
from transduce.text.protected import Format
from transduce.translator import Translation, Translator
from transduce.translator.documents import Document, document_steps

T = TypeVar("T")

Hear = Callable[[int, int, str], None]
"""Is told more of a translation while it is written: number of the text, of the sentence in it, and the new text."""


class Pending(Generic[T]):
    """Something that a client waits for, until it has it, goes away or has waited for too long."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        """On the clock of `time.monotonic`, in seconds."""
        self.future: Future[T] = Future()

    @property
    def over(self) -> bool:
        """Whether nobody waits any more; a deadline that has passed ends it here."""
        if not self.future.done() and time.monotonic() > self.deadline:
            self.fail(late())
        return self.future.done()

    def succeed(self, result: T) -> None:
        # The client may go away at any moment.
        with suppress(Exception):
            self.future.set_result(result)

    def fail(self, error: Exception) -> None:
        with suppress(Exception):
            self.future.set_exception(error)


def late() -> Refusal:
    return Refusal(503, "this was not done before the deadline: send less text, or try again later", retry_after=5)


class Call(Pending[T]):
    """Something else to be computed where the run's model is."""

    def __init__(self, function: Callable[[Translator], T], deadline: float) -> None:
        super().__init__(deadline)
        self.function = function


@dataclass(frozen=True)
class Wish:
    """How texts are to be translated. What is wished for alike can share a batch."""

    alignment: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of `DecodingConfig`."""


class Job(Pending[list[Document]]):
    """A request to translate some texts."""

    def __init__(
        self, texts: Sequence[str], wish: Wish, deadline: float, *, format: Format = "text", hear: Hear | None = None
    ) -> None:
        super().__init__(deadline)
        self.texts, self.wish, self.format, self.hear = texts, wish, format, hear
        self.waiting: deque[Sentence] = deque()
        """What is to be translated next, in order."""
        self._documents: dict[int, Document] = {}

    def begin(self, translator: Translator) -> None:
        """Find the sentences of the texts. A text without any is done at once. Raises InputError for one that the
        task reads as a whole and that is longer than the model takes."""
        for number, text in enumerate(self.texts):
            steps = document_steps(translator, text, format=self.format, number=number, **self.wish.options)
            _Text(self, number, steps).go_on(None)

    def finish(self, number: int, document: Document) -> None:
        self._documents[number] = document
        if len(self._documents) == len(self.texts):
            self.succeed([self._documents[i] for i in range(len(self.texts))])


class _Text:
    """A text between the rounds in which its sentences are asked for."""

    def __init__(self, job: Job, number: int, steps: Any) -> None:
        self.job, self.number, self._steps = job, number, steps
        self._rounds, self._left = 0, 0
        self._answers: list[Translation] = []

    def go_on(self, answers: list[Translation] | None) -> None:
        try:
            asked = self._steps.send(answers)
        except StopIteration as stop:
            self.job.finish(self.number, stop.value)
            return
        self._rounds += 1
        self._left, self._answers = len(asked), [Translation("", ())] * len(asked)
        if not asked:
            self.go_on([])
            return
        # What is asked for again, in parts, was told already.
        heard = self._rounds == 1 and self.job.hear is not None
        self.job.waiting.extend(Sentence(self, i, content, heard) for i, content in enumerate(asked))

    def take(self, number: int, answer: Translation) -> None:
        self._answers[number] = answer
        self._left -= 1
        if not self._left:
            self.go_on(self._answers)


class Sentence:
    """One line that is translated with those of others."""

    def __init__(self, text: _Text, number: int, content: str, heard: bool) -> None:
        self._text, self._number, self._told = text, number, ""
        self.job, self.content, self.heard = text.job, content, heard

    def tell(self, written: str) -> None:
        """Tell the listener what is new in the beginning of the translation that is known now."""
        if self.job.hear is not None and written.startswith(self._told) and written != self._told:
            self.job.hear(self._text.number, self._number, written[len(self._told) :])
            self._told = written

    def take(self, answer: Translation) -> None:
        if self.heard:
            self.tell(answer.text)
        self._text.take(self._number, answer)
