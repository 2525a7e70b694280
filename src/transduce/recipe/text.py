"""The text of a run: its corpora, tokenizers and encoded store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from transduce.data.corpus import Builtins, CorpusConfig, checksum, count_pairs, read_pairs
from transduce.data.filters import clean_pairs, fingerprints
from transduce.data.prepare import Prepared, prepare
from transduce.data.report import Report
from transduce.demo import corpus as demo
from transduce.demo import dates
from transduce.errors import DataError, RunError
from transduce.experiment import Experiment
from transduce.experiment.load import Loaded
from transduce.experiment.load import load as load_with
from transduce.run_folder import RunFolder, read_json, write_text
from transduce.text.pair import Tokenizers


def _demo(split: demo.Split) -> Iterable[tuple[str, str]]:
    return ((example.source, example.target) for example in demo.pairs(split))


BUILTINS: Builtins = {
    **{f"demo-{split}": partial(_demo, split) for split in demo.SPLITS},
    **{f"dates-{split}": partial(dates.pairs, split) for split in ("train", "valid", "test")},
}
"""The corpora that the program makes itself."""


def load_experiment(path: Path | str, settings: Iterable[str] = ()) -> Loaded:
    """Read an experiment file; `settings` ("training.seed=2") go over it. A preset is chosen by corpus size."""
    return load_with(Path(path), settings, lambda corpora: count_pairs(corpora, builtins=BUILTINS))


def learn_tokenizers(experiment: Experiment) -> Tokenizers:
    """Tokenizers trained on the training text as the filters leave it."""
    data = experiment.data
    barred = fingerprints(held_out(experiment), data.filters, builtins=BUILTINS)

    def pairs() -> Iterable[tuple[str, str]]:
        kept = clean_pairs(data.train, data.filters, Report(), builtins=BUILTINS, held_out=barred)
        return ((pair.source, pair.target) for _, pair in kept)

    return Tokenizers.train(experiment.tokenizer, pairs)


def prepare_data(experiment: Experiment, tokenizers: Tokenizers, cache: Path, *, enforce: bool = True) -> Prepared:
    """Read, filter and encode the training text, or find it in the cache."""
    languages = (experiment.source_language, experiment.target_language)
    return prepare(
        experiment.data.train,
        experiment.data.filters,
        tokenizers,
        cache,
        builtins=BUILTINS,
        held_out=held_out(experiment),
        languages=languages if all(languages) else None,
        enforce=enforce,
    )


def record_data(run: RunFolder, experiment: Experiment, data: Prepared, resumed: bool) -> None:
    """Write data.json, or on resume make sure that the text is still the one the run began with."""
    path = run.path / "data.json"
    checksums = {"train": data.checksum, "valid": checksum([experiment.data.valid], builtins=BUILTINS)}
    if resumed and path.exists():
        before = read_json(path).get("sha256", {})
        changed = [name for name in checksums if checksums[name] != before.get(name)]
        if changed:
            raise RunError(
                f"{run.path}: the {' and '.join(changed)} text has changed since this run began; "
                "restore it to resume, or start a new run"
            )
        return
    write_text(path, json.dumps({"sha256": checksums, "report": data.report.to_json()}, ensure_ascii=False, indent=1))


def read_texts(corpus: CorpusConfig) -> tuple[list[str], list[str]]:
    """A held-out corpus whole: nothing is filtered from what is measured, but an empty side is refused."""
    sources, targets = [], []
    for pair in read_pairs(corpus, builtins=BUILTINS):
        if not pair.source.strip() or not pair.target.strip():
            raise DataError(
                f"{corpus.name}: an empty side in held-out text; fill it in or take the pair out", line=pair.number
            )
        sources.append(pair.source)
        targets.append(pair.target)
    return sources, targets


def held_out(experiment: Experiment) -> list[CorpusConfig]:
    """What training must not see: the validation text and every test set."""
    return [experiment.data.valid, *experiment.data.test.values()]
