"""From a run folder to translated text."""

from transduce.translator.results import Alternative, Link, Scored, Translation
from transduce.translator.translator import Translator

__all__ = ["Alternative", "Link", "Scored", "Translation", "Translator"]
