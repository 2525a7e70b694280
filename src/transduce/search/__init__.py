"""Search: from a model's next-token distribution to output, the same way for every model."""

from transduce.search.config import DecodingConfig
from transduce.search.constraints import banned_ids
from transduce.search.decoding import search
from transduce.search.ensemble import Ensemble
from transduce.search.hypothesis import Hypothesis
from transduce.search.length_penalty import LengthPenalty

__all__ = ["DecodingConfig", "Ensemble", "Hypothesis", "LengthPenalty", "banned_ids", "search"]
