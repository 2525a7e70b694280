"""How output is searched for."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from transduce.config import Config

WIDEST_BEAM = 1000
"""Nobody has found a use for more than a tenth of it, and each hypothesis takes memory of its own."""


class DecodingConfig(Config):
    """Search settings; the defaults are the paper's (6.1)."""

    beam: int = Field(default=4, ge=1, le=WIDEST_BEAM)
    """Hypotheses followed at a time, per sentence. 1 is greedy search: the best token at each step, up to
    the first end mark. Sampling does not use it."""
    length_penalty: float = Field(default=0.6, ge=-10, le=10)
    """Alpha, without unit: 0 compares log-probabilities as they are, more favours long output, a negative
    value short output."""
    length_penalty_form: Literal["gnmt", "power"] = "gnmt"
    """What the log-probability is divided by: "gnmt" ((5 + |Y|) / 6)^alpha (paper 6.1), "power" |Y|^alpha.
    |Y| is the number of tokens of the output and counts its end mark."""
    max_extra: int = Field(default=50, ge=0, le=10_000)
    """Tokens by which output may be longer than its source, neither counting its end mark (paper 6.1)."""
    max_source: int = Field(default=1000, ge=1)
    """Tokens that a source may have, its end mark not counted; a longer text is refused, by number and length.
    Attention takes memory by the square of it."""
    min_length: int = Field(default=0, ge=0)
    """Tokens before the end mark is allowed; where it is more than the greatest length, that one wins."""
    no_repeat_ngram: int = Field(default=0, ge=0)
    """No sequence of this many tokens occurs twice in one output; 0 allows any."""
    nbest: int = Field(default=1, ge=1, le=10_000)
    """Hypotheses returned per sentence, best first: at most `beam`, or any number of samples."""
    sample: bool = False
    """Draw tokens at random from the model's distribution instead of searching for the best output."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling: log-probabilities are divided by it; below 1 sharpens the distribution."""
    top_k: int = Field(default=0, ge=0)
    """Sampling: draw among this many most probable tokens; 0 means all."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Sampling: draw among the fewest tokens whose probabilities, after temperature and top_k, reach it."""
    seed: int = Field(default=0, ge=0)
    """Sampling: with the sentence's id it decides the draws, whatever else is in the batch."""
    early_stop: bool = True
    """Stop as soon as nothing better can be found. It saves time and never changes the result."""
    patience: float = Field(default=0, ge=0, le=1000)
    """Stop once this many times `beam` hypotheses have ended: 1 is what most toolkits do. It saves more time, and can
    miss a better hypothesis that is longer. 0: an end alone stops no search."""
    without_letters: Literal["keep", "translate"] = "keep"
    """A source without any letter, such as "-", "7" or "…": "keep" returns it as it is, since a model is apt to
    invent words for it; "translate" asks the model, for tasks such as dates or numerals."""
    unknown: Literal["avoid", "mark", "copy"] = "avoid"
    """The unknown word: "avoid" never writes it, "mark" shows its mark, "copy" puts the source word that it
    attends to most in its place."""

    @model_validator(mode="after")
    def _check(self) -> DecodingConfig:
        if not self.sample and self.nbest > self.beam:
            raise ValueError(
                f"`nbest` = {self.nbest} is more than `beam` = {self.beam}: a beam finds at most as many "
                f"hypotheses as it is wide. Set `beam` to {self.nbest} or more, or `nbest` to {self.beam} or less"
            )
        return self
