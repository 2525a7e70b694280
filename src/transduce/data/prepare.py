"""From corpora to a store: read, filter, encode, keep; once for the same data, filters and tokenizer."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from transduce.data.corpus import NO_BUILTINS, Builtins, CorpusConfig, checksum, count_pairs, files_digest
from transduce.data.filters import DUPLICATE, FilterConfig, clean_pairs, fingerprints, token_filter
from transduce.data.passes import Pass, Tell
from transduce.data.report import Report
from transduce.data.store import CHUNK, FORMAT, Example, Store, batched, cached_store
from transduce.errors import RunError
from transduce.text.pair import Tokenizers
from transduce.text.specials import UNK

REPORT = "report.json"
"""The report's file beside the arrays, so that a store found in the cache still says what it lacks."""
FILES = "files.txt"
"""Beside the arrays too: the digest of the files that the text was read from, its checksum, and the digest of both."""
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
    streams: Sequence[str] = ("source", "target"),
    comparable: bool = True,
    enforce: bool = True,
    tell: Tell | None = None,
) -> Prepared:
    """Encode the corpora into a store under `cache`, or find the one that an earlier call made.

    Of `streams` the store has only what a task needs; without the source, its tokens bound nothing either. `comparable`
    says whether the lengths of both sides go together where they are aligned, as those of labels don't.

    Pairs that `held_out` has too are left out or reported, as the filters say. `enforce=False`
    returns a report that breaks `max_dropped` instead of raising `DataError`; with no pair left it is
    raised always. Memory is bounded by `CHUNK` pairs and 8-byte fingerprints. `tell` hears how far a long pass is.
    """
    skip = (lambda number: None) if filters.invalid_utf8 == "drop" else None
    files = files_digest(corpora)
    # Whether text that is not UTF-8 stops the program is not in a store's key, so it is here.
    files = files and _sha256(files, filters.invalid_utf8)
    pairs_read = functools.cache(lambda: count_pairs(corpora, builtins=builtins))
    data = _known_checksum(cache, files) or checksum(
        corpora, builtins=builtins, on_invalid=skip, through=Pass("checksum of the text", pairs_read, tell)
    )
    held_out_data = checksum(held_out, builtins=builtins, on_invalid=skip)
    # `max_dropped` decides whether a store is used, not what is in it.
    settings = filters.model_dump(mode="json", exclude={"max_dropped", "invalid_utf8"})
    parts = [FORMAT, RULES, data, held_out_data, settings, tokenizers.fingerprint, list(streams)]
    key = _sha256(json.dumps(parts, sort_keys=True))

    def build(folder: Path) -> Store:
        report = Report(languages=languages, comparable=comparable, only_target="source" not in streams)
        barred = fingerprints(held_out, filters, builtins=builtins)

        def examples() -> Iterator[Example]:
            through = Pass("encoding the text", pairs_read, tell)
            pairs = clean_pairs(corpora, filters, report, builtins=builtins, held_out=barred, through=through)
            for chunk in batched(pairs, CHUNK):
                targets = tokenizers.target.encode_batch([pair.target for _, pair in chunk])
                sources = targets
                if "source" in streams:
                    sources = tokenizers.source.encode_batch([pair.source for _, pair in chunk])
                for (index, pair), source, target in zip(chunk, sources, targets, strict=True):
                    part = report.corpora[index]
                    unknown = source.count(UNK) if "source" in streams else 0, target.count(UNK)
                    part.observe_tokens(len(source), len(target), unknown, pair.number)
                    if reason := token_filter(source, target, filters):
                        part.take_back(pair.number, reason)
                    else:
                        sides = {"source": source, "target": target}
                        yield Example({name: sides[name] for name in streams}, pair.number, index)

        def finish(aside: Path) -> None:
            report.check(max_dropped=1.0)
            text = json.dumps(report.to_json(), ensure_ascii=False, indent=1)
            (aside / REPORT).write_text(text + "\n", encoding="utf-8")
            if files:
                (aside / FILES).write_text(f"{files} {data} {_sha256(files, data)}\n", encoding="utf-8")

        return Store.build(folder, vocabularies, examples(), key=key, finish=finish)

    vocabularies = {name: {"source": tokenizers.source, "target": tokenizers.target}[name].size for name in streams}

    def check(store: Store) -> None:
        report = _read_report(store)
        if store.key != key or (len(report.corpora), report.kept) != (len(corpora), len(store)):
            raise RunError(f"{store.folder}: its parts don't belong together; remove the folder to build it anew")
        store.check(vocabularies, len(corpora))

    store = cached_store(cache / key, build, check)
    report = _read_report(store)
    # The same text may have come from other files, and its languages may be declared anew.
    report.languages, report.comparable = languages, comparable
    for part, corpus in zip(report.corpora, corpora, strict=True):
        part.name = corpus.name
    if enforce:
        report.check(filters.max_dropped, spared=frozenset({DUPLICATE}))
    return Prepared(store, report, data)


def _known_checksum(cache: Path, files: str | None) -> str | None:
    """The checksum of a text that a store in the cache was made from, if its files were these."""
    if files is None:
        return None
    for path in cache.glob(f"*/{FILES}"):
        with suppress(OSError, ValueError):
            of_files, data, both = path.read_text(encoding="utf-8").split()
            if (of_files, both) == (files, _sha256(files, data)):
                return data
    return None


def _sha256(*words: str) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()


def _read_report(store: Store) -> Report:
    try:
        return Report.from_json(json.loads((store.folder / REPORT).read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{store.folder / REPORT}: {error}; remove the folder to build it anew") from None
