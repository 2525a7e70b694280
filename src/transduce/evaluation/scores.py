"""BLEU, chrF and TER by sacreBLEU, each with the signature that makes it comparable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from transduce.config import Config
from transduce.errors import DataError


class ScoringConfig(Config):
    """How output is compared with references. Scores by different rules are not comparable."""

    lowercase: bool = False
    """Compare without regard to case, as many older papers do."""
    tokenized: bool = False
    """The text is already split into tokens: BLEU counts what stands between spaces. For comparison with
    older papers; the score is no one's but theirs, and its signature says tok:none."""


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's name, its value (0 to 100; TER may exceed it) and the signature that says how it was counted."""

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
    scoring: ScoringConfig | None = None,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
) -> list[Score]:
    """Score a corpus. `references` holds one list per reference set, each as long as `hypotheses`.

    `language` is the code of the target: Chinese is split into characters, Japanese and Korean too, as
    sacreBLEU does without extra packages; every other language uses its 13a tokens. Raw, detokenised
    text on both sides.
    """
    refuse_uneven(hypotheses, references)
    known = calculators(language, scoring)
    results = []
    for name in metrics:
        metric = known[name]
        value = metric.corpus_score(list(hypotheses), [list(reference) for reference in references])
        results.append(Score(value.name, bounded(value.name, value.score), str(metric.get_signature())))
    return results


def bounded(metric: str, value: float) -> float:
    """A score that is not above 100, which sacreBLEU's rounding passes by 4e-14; an error rate may be."""
    return value if metric == "TER" else min(value, 100.0)


def exact_match(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Share of lines, in percent, that equal a reference to the letter: what counts where there is one right answer."""
    refuse_uneven(hypotheses, references)
    right = sum(line in answers for line, *answers in zip(hypotheses, *references, strict=True))
    return Score("exact", 100 * right / len(hypotheses), f"nrefs:{len(references)}|case:mixed|lines:{len(hypotheses)}")


def refuse_uneven(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise DataError unless each reference set has one line per line of output, and there are some."""
    for i, reference in enumerate(references, start=1):
        if isinstance(reference, str) or len(reference) != len(hypotheses):
            turned = len(references) == len(hypotheses) and all(len(other) == 1 for other in references)
            hint = f"; expected one list of {len(references)}, got {len(references)} lists of 1" if turned else ""
            raise DataError(
                f"reference {i} has {len(reference)} lines, the output has {len(hypotheses)}: "
                f"each reference needs one line per line of output{hint}"
            )
    if not hypotheses:
        raise DataError("there is nothing to score: the test has no lines")


def calculators(language: str, scoring: ScoringConfig | None) -> dict[str, Metric]:
    """sacreBLEU's metrics for a target language, by our names for them."""
    scoring = scoring or ScoringConfig()
    tokeniser = "none" if scoring.tokenized else _tokeniser(language)
    by_character = _tokeniser(language) != "13a"
    return {
        # `force` takes back sacreBLEU's warning that the text looks tokenised, where that was said before.
        "bleu": BLEU(tokenize=tokeniser, lowercase=scoring.lowercase, force=scoring.tokenized),
        "chrf": CHRF(lowercase=scoring.lowercase),
        # Without regard to case always, as sacreBLEU's own default has it.
        "ter": TER(asian_support=by_character, normalized=by_character),
    }


def looks_tokenised(lines: Sequence[str]) -> bool:
    """Whether most lines end in a full stop of its own, or some hold marks of pieces: scores would be too high."""
    ends = [line for line in lines if line.rstrip().endswith((".", "。", "!", "?"))]
    apart = sum(line.rstrip()[:-1].endswith(" ") for line in ends)
    return (len(ends) >= 10 and apart > len(ends) / 2) or any("@@ " in line or "▁" in line for line in lines)


def _tokeniser(language: str) -> str:
    base = language.lower().replace("_", "-").split("-")[0]
    return {"zh": "zh", "ja": "char", "ko": "char"}.get(base, "13a")
