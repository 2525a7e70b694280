"""BLEU, chrF and TER by sacreBLEU, each with the signature that makes it comparable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from transduce.errors import DataError


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's name, its value (0 to 100; TER may exceed it) and sacreBLEU's signature."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f}  ({self.signature})"


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    language: str = "",
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
) -> list[Score]:
    """Score a corpus. `references` holds one list per reference set, each as long as `hypotheses`.

    `language` is the code of the target: Chinese is split into characters, Japanese and Korean too, as
    sacreBLEU does without extra packages; every other language uses its 13a tokens. Raw, detokenised
    text on both sides.
    """
    for i, reference in enumerate(references, start=1):
        if isinstance(reference, str) or len(reference) != len(hypotheses):
            raise DataError(
                f"reference {i} has {len(reference)} lines, the output has {len(hypotheses)}: "
                "each reference needs one line per line of output"
            )
    if not hypotheses:
        raise DataError("there is nothing to score: the test has no lines")
    calculators = {
        "bleu": BLEU(tokenize=_tokeniser(language)),
        "chrf": CHRF(),
        "ter": TER(asian_support=_tokeniser(language) != "13a", normalized=_tokeniser(language) != "13a"),
    }
    results = []
    for name in metrics:
        metric = calculators[name]
        value = metric.corpus_score(list(hypotheses), [list(reference) for reference in references])
        results.append(Score(value.name, value.score, str(metric.get_signature())))
    return results


def _tokeniser(language: str) -> str:
    base = language.lower().replace("_", "-").split("-")[0]
    return {"zh": "zh", "ja": "char", "ko": "char"}.get(base, "13a")
