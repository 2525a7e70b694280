"""Phrases in texts."""

from __future__ import annotations

import re


def says(text: str, phrase: str) -> bool:
    """Whether a text has a phrase as whole words, in whatever case: no “I” in “his”, no “water” in “watercolor”."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) is not None
