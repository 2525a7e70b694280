"""Long texts: sentence by sentence, with all that stands between them and all that must not change put back.

What must not change (`transduce.text.protected`) is given to the model with its sentence, and looked for in what comes
back. Where it isn't there letter for letter, the parts around it are translated each by itself and it is put between
them. That is certain, whatever the model does, and has a price: those parts are translated a second time, none of them
knows of the others, and their order stays that of the source.

Where a task reads its source as a whole, a text is given to the model as a whole, and what comes out is new text.
"""

from __future__ import annotations

import html
from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from transduce.text.lines import has_letter, safe, unbroken
from transduce.text.protected import Format, Protected, keeps, masked, meant, protected, understood
from transduce.text.segments import Span, cut_long, sentence_spans
from transduce.translator.assembling import assemble
from transduce.translator.results import Translation
from transduce.translator.translator import Translator


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a document, or a piece of one that was too long; places in characters, ends excluded."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int
    translation: Translation
    """Of the sentence alone: places in its alignment are counted from the sentence's start."""
    in_parts: bool
    """Whether it was translated around what the model would not keep."""


@dataclass(frozen=True, slots=True)
class Document:
    """What became of a long text."""

    translation: Translation
    """Of all of it; the n-th alternative joins each sentence's n-th, or its last where a sentence has fewer."""
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        return self.translation.text


Steps = Generator[list[str], Sequence[Translation], Document]


def translate_document(
    translator: Translator, text: str, *, format: Format = "text", alignment: bool = False, **options: Any
) -> Document:
    """Translate a text of any length. `options` are settings of `DecodingConfig`.

    Line breaks, indentation, blank lines and spaces are kept, and what `protected` names: letter for letter. Where the
    source's script puts no space, one is put in between what needs it. Numbers are left to a run whose decoding has
    `without_letters = "translate"`, since to change them is then its work. In HTML all text in the answer is escaped.
    Of a task that reads its source as a whole, only white space around the text is kept, and in HTML its tags are not
    read. Raises InputError where such a text is longer than the model takes.
    """
    steps = document_steps(translator, text, format=format, **options)
    try:
        asked = next(steps)
        while True:
            asked = steps.send(translator.translate(asked, alignment=alignment, **options))
    except StopIteration as stop:
        return cast(Document, stop.value)


def document_steps(
    translator: Translator, text: str, *, format: Format = "text", number: int = 0, **options: Any
) -> Steps:
    """`translate_document` for those who have a translator asked elsewhere, by a queue for one.

    Yields texts, of one line each and none longer than the model takes, is sent a translation for each, at most twice,
    and returns the document. `number` is that of the text among others, from 0, for what is said of it.
    """
    config = translator.decoding(**options)
    if translator.task.whole:
        asked = unbroken(text if format == "text" else meant(text)).strip()
        translator.refuse_long([translator.tokenizers.source.encode(safe(asked))], [number], 0, config)
        return _whole(text, asked, format)
    every = config.without_letters == "translate"
    kept = protected(text, format, numbers=not every)
    longest = translator.longest_source(config)
    work = _Work(text, format, kept, every, longest, lambda part: len(translator.tokenizers.source.encode(part)))
    return work.steps(translator.experiment.source_language)


def _whole(text: str, asked: str, format: Format) -> Steps:
    """A text that is asked for at once, as `asked`; nothing in it need be in what comes out."""
    span = _trimmed(text, 0, len(text)) if asked else None
    if span is None:
        return Document(assemble(text, [], [])[0], ())
    (answer,) = yield [asked]
    source = text[slice(*span)]
    done = replace(_written(answer, source, format), source=source)
    translation, (place,) = assemble(text, [span], [done])
    return Document(translation, (Sentence(*span, *place, done, in_parts=False),))


@dataclass(frozen=True, slots=True)
class _Work:
    text: str
    format: Format
    kept: list[Protected]
    every: bool
    """Whether the model is asked for text without letters too."""
    longest: int
    size: Callable[[str], int]
    """Tokens of a text."""

    def steps(self, language: str) -> Steps:
        spans = []
        for start, end in sentence_spans(masked(self.text, self.kept, self.format), language):
            inside = [(one.start - start, one.end - start) for one in self.within(start, end)]
            cuts = cut_long(self.text[start:end], self.size, self.longest, whole=inside)
            spans += [(start + left, start + right) for left, right in cuts]
        done: dict[Span, Translation] = {}
        alone = [span for span in spans if self.may_be_whole(span)]
        answers = (yield [self.asked(span) for span in alone]) if alone else ()
        for span, answer in zip(alone, answers, strict=True):
            if (whole := self.whole(span, answer)) is not None:
                done[span] = whole
        parts = {span: self.parts(span) for span in spans if span not in done}
        asked = [part for row in parts.values() for part in row]
        answers = (yield [self.asked(part) for part in asked]) if asked else ()
        answer_of = dict(zip(asked, answers, strict=True))
        for (start, end), row in parts.items():
            each = [self.part(part, answer_of[part]) for part in row]
            inside = [(left - start, right - start) for left, right in row]
            done[start, end], _ = assemble(self.text[start:end], inside, each)
        translation, places = assemble(self.text, spans, [done[span] for span in spans])
        sentences = (
            Sentence(*span, *place, done[span], span in parts) for span, place in zip(spans, places, strict=True)
        )
        return Document(translation, tuple(sentences))

    def within(self, start: int, end: int) -> list[Protected]:
        first = bisect_left(self.kept, start, key=lambda one: one.start)
        return self.kept[first : bisect_left(self.kept, end, key=lambda one: one.start)]

    def between(self, start: int, end: int) -> list[Span]:
        """What lies around the protected, without outer white space."""
        inside = self.within(start, end)
        edges = zip([start, *(one.end for one in inside)], [*(one.start for one in inside), end], strict=True)
        return [span for left, right in edges if (span := _trimmed(self.text, left, right)) is not None]

    def asked(self, span: Span) -> str:
        """What the model is given: the protected as it stands, entities elsewhere as what they mean."""
        start, end = span
        if self.format == "text":
            return self.text[start:end]
        pieces, at = [], start
        for one in self.within(start, end):
            pieces += [understood(self.text[at : one.start]), one.text]
            at = one.end
        return "".join(pieces) + understood(self.text[at:end])

    def may_be_whole(self, span: Span) -> bool:
        around = self.between(*span)
        worth = bool(around) if self.every else any(has_letter(self.text[left:right]) for left, right in around)
        asked = self.asked(span)
        return worth and "\n" not in asked and self.size(asked) <= self.longest

    def whole(self, span: Span, answer: Translation) -> Translation | None:
        """The translation of a sentence if it has all that it must have; of alternatives those that do."""
        inside = self.within(*span)
        if not inside:
            return self.part(span, answer)
        good = tuple(one for one in answer.alternatives if self.is_good(inside, one.text))
        if not good:
            return None
        result = replace(answer, source=self.text[slice(*span)], alternatives=good)
        same = good[0] == answer.alternatives[0] and result.source == answer.source
        return result if same else replace(result, alignment=())

    def is_good(self, inside: list[Protected], text: str) -> bool:
        found = protected(text, self.format, numbers=not self.every)
        ends = zip([0, *(one.end for one in found)], [*(one.start for one in found), len(text)], strict=True)
        live = self.format == "html" and any(set("<>&") & set(text[left:right]) for left, right in ends)
        return keeps(inside, found) and not live

    def parts(self, span: Span) -> list[Span]:
        pieces = []
        for start, end in self.between(*span):
            cuts = cut_long(self.text[start:end], self.size, self.longest)
            pieces += [(start + left, start + right) for left, right in cuts]
        return pieces

    def part(self, span: Span, answer: Translation) -> Translation:
        """The translation of a part, in which nothing is protected."""
        return _written(answer, self.text[slice(*span)], self.format)


def _written(answer: Translation, source: str, format: Format) -> Translation:
    """The translation of a source that was understood to be asked for, in the source's format."""
    if format == "text":
        return answer
    escaped = tuple(replace(one, text=html.escape(one.text, quote=False)) for one in answer.alternatives)
    same = escaped == answer.alternatives and source == answer.source
    return replace(answer, source=source, alternatives=escaped, alignment=answer.alignment if same else ())


def _trimmed(text: str, start: int, end: int) -> Span | None:
    core = text[start:end].strip()
    if not core:
        return None
    start = text.index(core, start)
    return start, start + len(core)
