"""The ids that every vocabulary reserves, before any piece of text has one.

They live outside the text vocabularies: a tokenizer numbers its pieces from `RESERVED` on, so no
typed text and no learned merge can ever take or spell one of these ids.
"""

from __future__ import annotations

PAD, BOS, EOS, UNK, MASK = range(5)
"""Padding, the start mark <s> that shifts the decoder's input right (paper 3.1), end of sequence,
a piece that the vocabulary lacks, and the blank of masked-word training."""

CONTROL = 16
"""Number of ids reserved for language and task tags."""

FIRST_CONTROL = MASK + 1
RESERVED = FIRST_CONTROL + CONTROL
"""Ids below this are special; text begins here."""

NAMES = ("<pad>", "<s>", "</s>", "<unk>", "<mask>", *(f"<control {i}>" for i in range(CONTROL)))
"""How each special id is shown to people; never looked up in text."""
