"""What was read, what was left out and why, and what looks odd: printed, stored and never silent."""

from __future__ import annotations

import dataclasses
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from transduce.data.scripts import count_scripts, counts_look_swapped
from transduce.errors import DataError, RunError
from transduce.text import specials

LINES_KEPT = 5
"""Line numbers that a report keeps of each kind."""
SAMPLE = 1000
"""Pairs from the start of a corpus, and letters of each side, from which its scripts are judged."""
LEAST_FOR_CORRELATION = 50
LEAST_CORRELATION = 0.2
"""Aligned text has a correlation of lengths of 0.6 and more; chance over 50 pairs stays mostly below 0.2."""

SPECIAL_LOOKING = "text that looks like a special token (it stays ordinary text)"

_ODD = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_SPECIAL = re.compile("|".join(map(re.escape, specials.NAMES)))
_CONTROLS = {0x00: "NUL", 0x0B: "line tabulation", 0x0C: "form feed", 0x0D: "carriage return", 0x85: "next line"}


Count = Annotated[int, Field(ge=0, le=2**53)]
Sum = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(slots=True)
class Tally:
    """How often something was met, and the first lines where it was."""

    count: Count = 0
    lines: list[Count] = field(default_factory=list)

    def add(self, number: int) -> None:
        self.count += 1
        if len(self.lines) < LINES_KEPT:
            self.lines.append(number)

    def where(self) -> str:
        """For people: `line 2`, `lines 3, 7, 9` or `lines 1, 2, 3, 4, 5, …`."""
        more = ", …" if self.count > len(self.lines) else ""
        return f"line{'' if self.count == 1 else 's'} {', '.join(map(str, self.lines))}{more}"


@dataclass(frozen=True, slots=True)
class Lengths:
    """Statistics of one side's lengths."""

    minimum: int
    median: int
    p95: int
    maximum: int

    @classmethod
    def of(cls, histogram: Mapping[int, int]) -> Lengths | None:
        """From how often each length occurs; the median and the 95 % point are lengths that occur."""
        ordered = sorted(histogram.items())
        if not ordered:
            return None
        total = sum(histogram.values())

        def at(share: float) -> int:
            seen = 0
            for length, count in ordered:
                seen += count
                if seen >= share * total:
                    return length
            return ordered[-1][0]

        return cls(ordered[0][0], at(0.5), at(0.95), ordered[-1][0])


def _sides() -> dict[str, dict[int, int]]:
    return {"source": {}, "target": {}}


@dataclass(slots=True)
class CorpusReport:
    """One corpus. Always: `read` = `kept` + everything in `dropped`."""

    name: str
    read: Count = 0
    kept: Count = 0
    dropped: dict[str, Tally] = field(default_factory=dict)
    """By reason."""
    warnings: dict[str, Tally] = field(default_factory=dict)
    """By kind, counted in lines; a line with a warning may be kept."""
    characters: dict[str, dict[Count, Count]] = field(default_factory=_sides)
    """For each side, how many pairs have each length in characters: of all that could be read."""
    tokens: dict[str, dict[Count, Count]] = field(default_factory=_sides)
    """The same in tokens without end mark, of the pairs that came so far: `too long` ones included."""
    unknown: dict[str, Count] = field(default_factory=lambda: {"source": 0, "target": 0})
    """Tokens of each side that the vocabulary lacks."""
    scripts: dict[str, dict[str, Count]] = field(default_factory=lambda: {"source": {}, "target": {}})
    """Letters of each side by script, from the start of the corpus."""
    moments: Annotated[list[Sum], Field(min_length=6, max_length=6)] = field(default_factory=lambda: [0.0] * 6)
    """n, Σx, Σy, Σx², Σy², Σxy of the logarithms of both sides' lengths."""

    def observe(self, source: str, target: str, number: int) -> None:
        """Count a pair that was read, and what is odd about it."""
        self.read += 1
        for side, text in (("source", source), ("target", target)):
            histogram = self.characters[side]
            histogram[len(text)] = histogram.get(len(text), 0) + 1
            if self.read <= SAMPLE:
                for script, count in count_scripts(text[:SAMPLE]).items():
                    self.scripts[side][script] = self.scripts[side].get(script, 0) + count
        for kind in sorted(set(_ODD.findall(source)) | set(_ODD.findall(target))):
            self.warn(number, _describe(kind))
        if _SPECIAL.search(source) or _SPECIAL.search(target):
            self.warn(number, SPECIAL_LOOKING)
        if source and target:
            x, y = math.log(len(source)), math.log(len(target))
            for i, value in enumerate((1.0, x, y, x * x, y * y, x * y)):
                self.moments[i] += value

    def observe_tokens(self, source: int, target: int, unknown: tuple[int, int], number: int) -> None:
        """Count a pair's lengths in tokens, and how many of them are unknown on each side."""
        for side, length, missing in (("source", source, unknown[0]), ("target", target, unknown[1])):
            histogram = self.tokens[side]
            histogram[length] = histogram.get(length, 0) + 1
            if missing:
                self.unknown[side] += missing
                self.warn(number, f"unknown token in the {side}")

    def warn(self, number: int, kind: str) -> None:
        self.warnings.setdefault(kind, Tally()).add(number)

    def keep(self) -> None:
        self.kept += 1

    def drop(self, number: int, reason: str) -> None:
        self.dropped.setdefault(reason, Tally()).add(number)

    def take_back(self, number: int, reason: str) -> None:
        """Drop a pair that counts as kept, found out at a later stage."""
        self.kept -= 1
        self.drop(number, reason)

    def adds_up(self) -> bool:
        """Whether the numbers fit each other, as they do unless a stored report was changed."""
        sides = self.characters, self.tokens, self.unknown, self.scripts
        return (
            self.read == self.kept + self.total_dropped
            and all(part.keys() == {"source", "target"} for part in sides)
            and all(missing <= self.total_tokens(side) for side, missing in self.unknown.items())
        )

    def total_tokens(self, side: str) -> int:
        return sum(length * count for length, count in self.tokens[side].items())

    @property
    def total_dropped(self) -> int:
        return sum(tally.count for tally in self.dropped.values())

    def correlation(self) -> float | None:
        """Pearson's r of the logarithms of the sides' lengths; None where one of them doesn't vary."""
        n, x, y, xx, yy, xy = self.moments
        spreads = n * xx - x * x, n * yy - y * y
        # Sums of equal logarithms leave a rest of about 1e-12, which is no spread.
        if not min(spreads) > 1e-9 * n * n:
            return None
        return (n * xy - x * y) / math.sqrt(spreads[0] * spreads[1])

    def suspicions(self, languages: tuple[str, str] | None, comparable: bool = True) -> list[str]:
        """What is odd about the corpus as a whole, in sentences."""
        found = []
        r = self.correlation() if comparable else None
        if r is not None and self.moments[0] >= LEAST_FOR_CORRELATION and r < LEAST_CORRELATION:
            found.append(
                f"the lengths of the two sides hardly go together (correlation {r:.2f}): "
                "the sides may be shifted against each other"
            )
        if languages and counts_look_swapped(*languages, self.scripts["source"], self.scripts["target"]):
            found.append(
                f"the two sides look swapped: by their scripts, the source is {languages[1]} "
                f"and the target {languages[0]}"
            )
        return found

    def render(
        self, languages: tuple[str, str] | None, comparable: bool = True, only_target: bool = False
    ) -> list[str]:
        reasons = ", ".join(f"{reason}: {tally.count:,}" for reason, tally in self.dropped.items())
        out = [
            f"{self.name}: read {self.read:,}, kept {self.kept:,}, dropped {self.total_dropped:,}"
            + (f" ({reasons})" if reasons else "")
        ]
        for reason, tally in self.dropped.items():
            out.append(f"  {_pairs(tally.count)} dropped: {reason}, {tally.where()}")
        for unit, sides in (("characters", self.characters), ("tokens", self.tokens)):
            for side, histogram in {"text": sides["target"]}.items() if only_target else sides.items():
                if lengths := Lengths.of(histogram):
                    out.append(
                        f"  {side} {unit}: shortest {lengths.minimum}, median {lengths.median}, "
                        f"95 % up to {lengths.p95}, longest {lengths.maximum}"
                    )
        for side, missing in self.unknown.items():
            if missing:
                total = self.total_tokens(side)
                out.append(f"  {side}: {missing:,} of {total:,} tokens unknown ({missing / total:.2%})")
        for kind, tally in self.warnings.items():
            out.append(f"  warning: {kind}: {_pairs(tally.count)}, {tally.where()}")
        out.extend(f"  warning: {sentence}" for sentence in self.suspicions(languages, comparable))
        return out


@dataclass(slots=True)
class Report:
    """All corpora of one text."""

    corpora: list[CorpusReport] = field(default_factory=list)
    languages: tuple[str, str] | None = None
    """Codes of the source and target language, to see whether the sides look swapped."""
    comparable: bool = True
    """Whether the lengths of both sides go together where they are aligned."""
    only_target: bool = False
    """Whether the target is all that is learned from: texts without a translation."""

    @property
    def read(self) -> int:
        return sum(corpus.read for corpus in self.corpora)

    @property
    def kept(self) -> int:
        return sum(corpus.kept for corpus in self.corpora)

    @property
    def dropped(self) -> dict[str, int]:
        """Pairs left out, by reason."""
        total: dict[str, int] = {}
        for corpus in self.corpora:
            for reason, tally in corpus.dropped.items():
                total[reason] = total.get(reason, 0) + tally.count
        return total

    def check(self, max_dropped: float, *, spared: frozenset[str] = frozenset()) -> None:
        """Raise `DataError` if nothing is left, or if a corpus lost more than a share of its pairs.

        The reasons in `spared` lose no content and don't count towards the share.
        """
        if self.kept == 0:
            raise DataError(f"no pair is left to use\n{self.render()}")
        for corpus in self.corpora:
            lost = sum(tally.count for reason, tally in corpus.dropped.items() if reason not in spared)
            if lost > max_dropped * corpus.read:
                raise DataError(
                    f"{corpus.name}: {lost:,} of {corpus.read:,} pairs would be left out "
                    f"({lost / corpus.read:.0%}), more than `max_dropped` = {max_dropped:g} allows; "
                    f"mend the text or raise `max_dropped`\n{self.render()}"
                )

    def render(self) -> str:
        """Plain lines for a terminal."""
        out = [
            line for corpus in self.corpora for line in corpus.render(self.languages, self.comparable, self.only_target)
        ]
        if len(self.corpora) > 1:
            dropped = sum(self.dropped.values())
            out.append(f"in all: read {self.read:,}, kept {self.kept:,}, dropped {dropped:,}")
        return "\n".join(out)

    def to_json(self) -> dict[str, Any]:
        """A tree that JSON holds: everything in the report, and the sentences made from it."""
        corpora = []
        for corpus in self.corpora:
            r = corpus.correlation()
            suspicions = corpus.suspicions(self.languages, self.comparable)
            corpora.append(dataclasses.asdict(corpus) | {"suspicions": suspicions, "length_correlation": r})
        languages = list(self.languages) if self.languages else None
        return {
            "corpora": corpora,
            "languages": languages,
            "comparable": self.comparable,
            "only_target": self.only_target,
        }

    @classmethod
    def from_json(cls, tree: Any) -> Report:
        """What `to_json` gave, once through JSON; `RunError` if it's something else."""
        try:
            report = _ADAPTER.validate_python(tree)
        except ValidationError as error:
            raise RunError(f"not a data report: {error.error_count()} fields don't fit") from None
        if not all(corpus.adds_up() for corpus in report.corpora):
            raise RunError("not a data report: its numbers don't add up")
        return report


_ADAPTER = TypeAdapter(Report)


def _pairs(count: int) -> str:
    return f"{count:,} pair{'' if count == 1 else 's'}"


def _describe(character: str) -> str:
    """`U+2028 line separator`, `U+FEFF byte order mark inside a line (removed)`."""
    code = ord(character)
    if code == 0xFEFF:
        return "U+FEFF byte order mark inside a line (removed)"
    name = _CONTROLS.get(code) or unicodedata.name(character, "control character").lower()
    return f"U+{code:04X} {name}"
