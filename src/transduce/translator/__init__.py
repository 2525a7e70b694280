"""From a run folder to translated text."""

from transduce.translator.documents import Document, Sentence, document_steps, translate_document
from transduce.translator.filling import Choice, Filled, fill, vectors
from transduce.translator.generating import Generated, generate
from transduce.translator.results import Alternative, Link, Scored, Translation
from transduce.translator.translator import Translator

__all__ = [
    "Alternative",
    "Choice",
    "Document",
    "Filled",
    "Generated",
    "Link",
    "Scored",
    "Sentence",
    "Translation",
    "Translator",
    "document_steps",
    "fill",
    "generate",
    "translate_document",
    "vectors",
]
