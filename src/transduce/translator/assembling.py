"""Translations of stretches of a text, put back to where the stretches were."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from transduce.text.segments import Span, is_spaceless
from transduce.translator.results import Alternative, Translation, join

_EMPTY = Translation("", (Alternative("", 0.0, 0.0),))
_ENDS_OPEN = re.compile(r"<[^/<>][^<>]*>\Z")


def assemble(text: str, spans: Sequence[Span], done: Sequence[Translation]) -> tuple[Translation, list[Span]]:
    """The translation of a text from those of some stretches of it, with what stands between them as it is; and where
    each of them lies in it.

    A space is added where the source's script needs none and the target's does: of "你好{name}。" comes "Hello {name}."
    """
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    gaps = [text[left:right] for left, right in zip([0, *ends], [*starts, len(text)], strict=True)]
    before, after = [""] * len(spans), [""] * len(spans)
    for i, gap in enumerate(gaps[1:-1]):
        after[i], before[i + 1] = _spaces(
            text[ends[i] - 1], done[i].text[-1:], gap, text[starts[i + 1]], done[i + 1].text[:1]
        )
    if spans:
        after[-1] = _spaces(text[ends[-1] - 1], done[-1].text[-1:], gaps[-1], "", "")[0]
        before[0] = _spaces("", "", gaps[0], text[starts[0]], done[0].text[:1])[1]
    places, at = [], len(gaps[0])
    for one, left, right, gap in zip(done, before, after, gaps[1:], strict=True):
        places.append((at + len(left), at + len(left) + len(one.text)))
        at += len(left) + len(one.text) + len(right) + len(gap)
    spaced = [_within(one, left, right) for one, left, right in zip(done, before, after, strict=True)]
    return join(text, [_EMPTY, *spaced], gaps), places


def _spaces(left_source: str, left: str, gap: str, right_source: str, right: str) -> tuple[str, str]:
    """The space that is missing before a gap, and after it; `left` to `right` are the characters beside it."""
    ends = not is_spaceless(left) and (left.isalnum() or left in tuple(".,;:!?)]…”’"))
    begins = not is_spaceless(right) and (right.isalnum() or right in tuple("([“‘"))
    if not gap:
        missing = is_spaceless(left_source) and is_spaceless(right_source) and ends and begins
        return " " * missing, ""
    # The space belongs outside of what a tag marks.
    outside = not gap[0].isspace() and not gap.startswith("</")
    first = outside and is_spaceless(left_source) and ends
    outside = not gap[-1].isspace() and not _ENDS_OPEN.search(gap)
    return " " * first, " " * (outside and is_spaceless(right_source) and begins)


def _within(one: Translation, before: str, after: str) -> Translation:
    """A translation with space around it."""
    if not before and not after:
        return one
    alternatives = tuple(replace(each, text=before + each.text + after) for each in one.alternatives)
    moved = tuple(link.moved(0, len(before)) for link in one.alignment)
    return replace(one, alternatives=alternatives, alignment=moved)
