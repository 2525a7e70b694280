"""From corpora to a store: read, filter, encode, keep; once for the same data, filters and tokenizer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from transduce.data.corpus import NO_BUILTINS, Builtins, CorpusConfig, checksum
from transduce.data.filters import DUPLICATE, FilterConfig, clean_pairs, fingerprints, token_filter
from transduce.data.report import Report
from transduce.data.store import CHUNK, FORMAT, Example, Store, batched, cached_store
from transduce.errors import RunError
from transduce.text.pair import Tokenizers
from transduce.text.specials import UNK

REPORT = "report.json"
"""The report's file beside the arrays, so that a store found in the cache still says what it lacks."""
RULES = 1
"""Raised when the same configuration would keep other pairs or encode them differently."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Text ready for training or validation."""

    store: Store
    """Streams `source` and `target`."""
    report: Report
    checksum: str
    """SHA-256 of the text before any filter, as `corpus.checksum` has it."""


def prepare(
    corpora: Sequence[CorpusConfig],
    filters: FilterConfig,
    tokenizers: Tokenizers,
    cache: Path,
    *,
    builtins: Builtins = NO_BUILTINS,
    held_out: Sequence[CorpusConfig] = (),
    languages: tuple[str, str] | None = None,
    enforce: bool = True,
) -> Prepared:
    """Encode the corpora into a store under `cache`, or find the one that an earlier call made.

    Pairs that `held_out` has too are left out or reported, as the filters say. `enforce=False`
    returns a report that breaks `max_dropped` instead of raising `DataError`; with no pair left it is
    raised always. Memory is bounded by `CHUNK` pairs and 8-byte fingerprints.
    """
    skip = (lambda number: None) if filters.invalid_utf8 == "drop" else None
    data = checksum(corpora, builtins=builtins, on_invalid=skip)
    held_out_data = checksum(held_out, builtins=builtins, on_invalid=skip)
    # `max_dropped` decides whether a store is used, not what is in it.
    settings = filters.model_dump(mode="json", exclude={"max_dropped", "invalid_utf8"})
    parts = [FORMAT, RULES, data, held_out_data, settings, tokenizers.fingerprint]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def build(folder: Path) -> Store:
        report = Report(languages=languages)
        barred = fingerprints(held_out, filters, builtins=builtins)

        def examples() -> Iterator[Example]:
            pairs = clean_pairs(corpora, filters, report, builtins=builtins, held_out=barred)
            for chunk in batched(pairs, CHUNK):
                sources = tokenizers.source.encode_batch([pair.source for _, pair in chunk])
                targets = tokenizers.target.encode_batch([pair.target for _, pair in chunk])
                for (index, pair), source, target in zip(chunk, sources, targets, strict=True):
                    part = report.corpora[index]
                    unknown = source.count(UNK), target.count(UNK)
                    part.observe_tokens(len(source), len(target), unknown, pair.number)
                    if reason := token_filter(source, target, filters):
                        part.take_back(pair.number, reason)
                    else:
                        yield Example({"source": source, "target": target}, pair.number, index)

        def finish(aside: Path) -> None:
            report.check(max_dropped=1.0)
            text = json.dumps(report.to_json(), ensure_ascii=False, indent=1)
            (aside / REPORT).write_text(text + "\n", encoding="utf-8")

        vocabularies = {"source": tokenizers.source.size, "target": tokenizers.target.size}
        return Store.build(folder, vocabularies, examples(), key=key, finish=finish)

    store = cached_store(cache / key, build, _read_report)
    report = _read_report(store)
    # The same text may have come from other files, and its languages may be declared anew.
    report.languages = languages
    for part, corpus in zip(report.corpora, corpora, strict=True):
        part.name = corpus.name
    if enforce:
        report.check(filters.max_dropped, spared=frozenset({DUPLICATE}))
    return Prepared(store, report, data)


def _read_report(store: Store) -> Report:
    try:
        return Report.from_json(json.loads((store.folder / REPORT).read_bytes()))
    except (OSError, ValueError) as error:
        raise RunError(f"{store.folder / REPORT}: {error}; remove the folder to build it anew") from None
