"""From a run folder to translated text."""

from transduce.translator.filling import Choice, Filled, fill, vectors
from transduce.translator.generating import Generated, generate
from transduce.translator.results import Alternative, Link, Scored, Translation
from transduce.translator.translator import Translator

__all__ = [
    "Alternative",
    "Choice",
    "Filled",
    "Generated",
    "Link",
    "Scored",
    "Translation",
    "Translator",
    "fill",
    "generate",
    "vectors",
]
