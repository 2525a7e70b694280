"""Looking inside: a sentence's way through a model, recorded once and then read by everything else."""

from transduce.inspection.alignment import AttentionMap, Change, attention_map, without_word
from transduce.inspection.comparison import Difference, compare
from transduce.inspection.heads import HeadSummary, summaries, without_head
from transduce.inspection.layerwise import LensRow, Similarity, logit_lens, similarities
from transduce.inspection.predictions import Prediction, predictions
from transduce.inspection.recorder import record
from transduce.inspection.recording import Recording
from transduce.inspection.search_tree import SearchTree

__all__ = [
    "AttentionMap", "Change", "Difference", "HeadSummary", "LensRow", "Prediction", "Recording", "SearchTree",
    "Similarity", "attention_map", "compare", "logit_lens", "predictions", "record", "similarities", "summaries",
    "without_head", "without_word",
]  # fmt: skip
