"""What a language model makes of the beginning of a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from jaxtyping import Float, Int
from torch import Tensor

from transduce.models.contract import StepModel
from transduce.text.lines import safe
from transduce.text.tokenizer import Tokenizer
from transduce.text.vocabulary import one_line
from transduce.translator.translator import Translator

CUT = "\N{REPLACEMENT CHARACTER}"
"""What the bytes of half a character come out as."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A text that a model went on with."""

    prompt: str
    text: str
    """The prompt and what follows it."""
    log_probability: float
    """In nats, of what follows, with the end mark if there is one."""
    tokens: int
    """That follow, the end mark not counted."""
    finished: bool
    """Whether the model ended the text, not the greatest length."""


def generate(
    translator: Translator,
    prompt: str = "",
    *,
    number: int = 0,
    hear: Callable[[str], object] | None = None,
    **options: Any,
) -> Generated:
    """Go on with a text of one line. `options` are settings of `DecodingConfig`: `max_extra` tokens are added at most.

    `hear` is given the text bit by bit as it comes, the prompt first, then a token at a time where one is chosen at a
    time: when sampling, or with a beam of 1. `number` seeds sampling together with `seed`. Raises ConfigError for a run
    of another task.
    """
    translator.refuse_another("generate")
    config, tokenizer = translator.decoding(**options), translator.tokenizers.target
    ids = tokenizer.encode(one_line(safe(prompt)))
    translator.refuse_long([ids], [number], 0, config)
    told = Told(tokenizer, ids, hear)
    at_once = config.nbest == 1 and (config.sample or config.beam == 1)
    model = cast(StepModel, translator.model)
    if at_once and hear is not None:
        model = _Heard(model, told, len(ids))
    with translator.compute.autocast():
        ((best, *_),) = translator.task.decode(
            model, [ids], config, device=translator.compute.device, sentence_ids=[number]
        )
    told.all(best.ids)
    each = best.token_log_probabilities[len(ids) :]
    return Generated(prompt, tokenizer.decode(best.ids), sum(each), len(best.ids) - len(ids), best.finished)


class Told:
    """Text that was told so far; what no further token can change is told at once."""

    def __init__(self, tokenizer: Tokenizer, prompt: list[int], hear: Callable[[str], object] | None) -> None:
        self._tokenizer, self._ids, self._hear, self._text = tokenizer, list(prompt), hear, ""
        self._tell(tokenizer.decode(prompt))

    def add(self, id: int) -> None:
        self._ids.append(id)
        self._tell(self._tokenizer.decode(self._ids).rstrip(CUT))

    def all(self, ids: tuple[int, ...]) -> None:
        self._tell(self._tokenizer.decode(ids))

    def _tell(self, text: str) -> None:
        if self._hear is not None and len(text) > len(self._text):
            self._hear(text[len(self._text) :])
            self._text = text


class _Heard:
    """A model of one row that tells each token behind the prompt when it is chosen: when the next step begins."""

    def __init__(self, model: StepModel, told: Told, prompt: int) -> None:
        self.vocabulary, self.max_positions = model.vocabulary, model.max_positions
        self._model, self._told, self._before = model, told, prompt + 1

    def encode(self, source: Int[Tensor, "b s"], lengths: Int[Tensor, "b"]) -> Any:
        return self._model.encode(source, lengths)

    def start(self, memory: Any, capacity: int) -> Any:
        return self._model.start(memory, capacity)

    def step(self, previous: Int[Tensor, "b"], state: Any) -> tuple[Float[Tensor, "b v"], Any]:
        # The start mark and the prompt are no news.
        if self._before:
            self._before -= 1
        else:
            self._told.add(int(previous[0]))
        return self._model.step(previous, state)
