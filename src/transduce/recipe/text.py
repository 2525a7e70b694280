"""The text of a run: its corpora, tokenizers and encoded store."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from transduce.data.corpus import (
    Builtins,
    CorpusConfig,
    RawPair,
    Through,
    checksum,
    count_pairs,
    files_digest,
    read_pairs,
)
from transduce.data.filters import clean_pairs, fingerprints
from transduce.data.passes import Pass, Tell
from transduce.data.prepare import RULES, Prepared, prepare
from transduce.data.report import Report
from transduce.demo import corpus as demo
from transduce.demo import dates, questions
from transduce.errors import ConfigError, DataError, RunError, told
from transduce.evaluation.scores import looks_tokenised
from transduce.experiment import Experiment
from transduce.experiment.load import Loaded, to_toml
from transduce.experiment.load import load as load_with
from transduce.run_folder import RunFolder, read_json, write_text
from transduce.tasks import TASKS, Cost
from transduce.text.lines import has_letter
from transduce.text.pair import Tokenizers
from transduce.text.tokenizer_file import VERSION


def _demo(split: demo.Split) -> Iterable[tuple[str, str]]:
    return ((example.source, example.target) for example in demo.pairs(split))


def _senses(split: demo.Split) -> Iterable[tuple[str, str]]:
    return ((example.source, example.senses[0]) for example in demo.pairs(split) if len(example.senses) == 1)


BUILTINS: Builtins = {
    **{f"demo-{split}": partial(_demo, split) for split in demo.SPLITS},
    **{f"senses-{split}": partial(_senses, split) for split in demo.SPLITS if split != "long"},
    **{f"dates-{split}": partial(dates.pairs, split) for split in ("train", "valid", "test")},
    **{f"questions-{split}": partial(questions.pairs, split) for split in ("train", "valid", "test")},
    **{f"questions-test-{kind}": partial(questions.pairs, "test", kind) for kind in questions.KINDS},
}
"""The corpora that the program makes itself."""

LARGE = 1 << 20
"""Pairs from which on a text is prepared by a process of its own."""
SAMPLE = 20_000
"""Pairs that show how many new words a larger text would bring."""

MOST_KEPT = 0.1
"""Share of the validation text that `decoding.without_letters = "keep"` may answer wrongly before it is refused."""


def load_experiment(path: Path | str, settings: Iterable[str] = ()) -> Loaded:
    """Read an experiment file; `settings` ("training.seed=2") go over it. A preset is chosen by corpus size."""
    return load_with(Path(path), settings, lambda corpora: count_pairs(corpora, builtins=BUILTINS))


PROGRESS = "  "
"""Begins each line of `transduce prepare` on standard error that says how far it is."""


def prepare_aside(experiment: Experiment, cache: Path, tell: Tell | None = None) -> None:
    """Have another process learn the vocabulary of a large text and encode it, into the cache: the memory that it takes
    ends with it. What goes wrong there is met again, and told, by whoever looks into the cache afterwards."""
    if count_pairs(experiment.data.train, builtins=BUILTINS) < LARGE:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(to_toml(experiment))
        file.flush()
        command = [sys.executable, "-m", "transduce", "prepare", file.name, "--cache", str(cache.resolve())]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
        ) as process:
            assert process.stderr is not None
            try:
                for line in process.stderr:
                    if tell is not None and line.startswith(PROGRESS):
                        tell(line.strip())
            except BaseException:
                process.kill()
                raise


def learn_tokenizers(
    experiment: Experiment, cache: Path | None = None, *, aside: bool = False, tell: Tell | None = None
) -> Tokenizers:
    """Tokenizers trained on the training text as the filters leave it; where memory asks for it, on every n-th pair.

    Those that were learned from the same files before are found in the cache: of a large text that saves minutes.
    `aside`: what is not there yet comes from `prepare_aside`, if the text is large. `tell` hears how far it is.
    """
    key = _vocabulary_key(experiment) if cache is not None else None
    if cache is None or key is None:
        return _learn(experiment, tell)
    path = cache / f"{key}.tokenizer.json"
    for missing in (True, False):
        with suppress(RunError):
            return Tokenizers.load(path)
        if aside and missing:
            prepare_aside(experiment, cache, tell)
    tokenizers = _learn(experiment, tell)
    with told(path):
        cache.mkdir(parents=True, exist_ok=True)
        # Not aside: whoever reads half of it learns by itself, and writes the same bytes.
        tokenizers.save(path)
    return tokenizers


def _vocabulary_key(experiment: Experiment) -> str | None:
    """SHA-256 over all that a vocabulary depends on; None where some of it is no file."""
    data = experiment.data
    files = [files_digest(corpora) for corpora in (data.train, held_out(experiment))]
    if None in files or experiment.initial is not None:
        return None
    settings = data.filters.model_dump(mode="json", exclude={"max_dropped"})
    tokenizer = experiment.tokenizer.model_dump(mode="json")
    parts = [VERSION, RULES, files, settings, tokenizer, list(TASKS[experiment.task].streams)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _learn(experiment: Experiment, tell: Tell | None) -> Tokenizers:
    data = experiment.data
    barred = fingerprints(held_out(experiment), data.filters, builtins=BUILTINS)
    # Of a text without a translation each word counts once.
    streams = TASKS[experiment.task].streams

    def texts(corpora: Sequence[CorpusConfig], through: Through = iter) -> Iterator[tuple[str, ...]]:
        kept = clean_pairs(corpora, data.filters, Report(), builtins=BUILTINS, held_out=barred, through=through)
        return (tuple(getattr(pair, name) for name in streams) for _, pair in kept)

    every, count = 1, count_pairs(data.train, builtins=BUILTINS)
    if count > SAMPLE:
        share = -(-SAMPLE // len(data.train))
        sample = [text for corpus in data.train for text in islice(texts([corpus]), share)]
        every = max(1, math.ceil(count / Tokenizers.capacity(experiment.tokenizer, sample)))

    def learned() -> Iterator[tuple[str, ...]]:
        return islice(
            texts(data.train, Pass("reading the text for its vocabulary", lambda: count, tell)), 0, None, every
        )

    if experiment.initial is None:
        return Tokenizers.train(experiment.tokenizer, learned)
    before = RunFolder.open(experiment.initial)
    said = "task", "source_language", "target_language"
    same = all(getattr(experiment, name) == getattr(before.experiment, name) for name in said)
    same = same and experiment.tokenizer.target_kind == before.tokenizers.config.target_kind
    return Tokenizers.train(experiment.tokenizer, learned, known=before.tokenizers, known_target=same)


def prepare_data(
    experiment: Experiment, tokenizers: Tokenizers, cache: Path, *, enforce: bool = True, tell: Tell | None = None
) -> Prepared:
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
        streams=TASKS[experiment.task].streams,
        comparable=TASKS[experiment.task].metrics != (),
        enforce=enforce,
        tell=tell,
    )


def record_data(run: RunFolder, experiment: Experiment, data: Prepared, cost: Cost | None, resumed: bool) -> None:
    """Write data.json, with what the task costs, or on resume make sure that the text is the one the run began with."""
    path = run.path / "data.json"
    checksums = {"train": data.checksum, "valid": checksum([experiment.data.valid], builtins=BUILTINS)}
    if resumed and path.exists():
        before = read_json(path).get("sha256")
        if not isinstance(before, dict):
            raise RunError(f"{path}: it holds no checksums of the text; restore the file to resume, or start a new run")
        changed = [name for name in checksums if checksums[name] != before.get(name)]
        if changed:
            raise RunError(
                f"{run.path}: the {' and '.join(changed)} text has changed since this run began; "
                "restore it to resume, or start a new run"
            )
        return
    own = run.tokenizers
    tokenizer = {"fingerprint": own.fingerprint, "source": own.source.size, "target": own.target.size}
    content: dict[str, Any] = {"sha256": checksums, "tokenizer": tokenizer, "report": data.report.to_json()}
    if cost is not None:
        content["task_cost"] = cost.figures
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1))


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


def refuse_to_keep(sources: Sequence[str], targets: Sequence[str], experiment: Experiment) -> None:
    """Raise ConfigError where lines without letters would be kept, but the held-out text wants them translated."""
    unused = "without_letters" not in TASKS[experiment.task].decoding
    if unused or experiment.decoding.without_letters == "translate":
        return
    pairs = enumerate(zip(sources, targets, strict=True), start=1)
    wanted = [number for number, (s, t) in pairs if not has_letter(s) and s.strip() != t.strip()]
    if len(wanted) > MOST_KEPT * len(sources):
        raise ConfigError(
            f"{len(wanted):,} of {len(sources):,} sources of the validation text have no letters but another target "
            f'(first: pair {wanted[0]}), and decoding.without_letters = "keep" would return them as they are: set it '
            'to "translate"'
        )


def suspicious_tests(experiment: Experiment, tokenizers: Tokenizers) -> list[str]:
    """What is odd about the test sets, in sentences. Raises DataError for what is wrong with them, before training."""
    found = []
    written = bool(TASKS[experiment.task].metrics)
    for name, corpus in experiment.data.test.items():
        _, targets = read_texts(corpus)
        plain = [tokenizers.target.plain(text) for text in targets]
        if written and not experiment.scoring.tokenized and looks_tokenised(plain):
            found.append(
                f"warning: the references of data.test.{name} look tokenised: BLEU of such text is not comparable, "
                "unless scoring.tokenized = true says what it is"
            )
    return found


def refuse_too_long(experiment: Experiment, tokenizers: Tokenizers) -> None:
    """Raise DataError for held-out text that the model has no positions for: now, not at the first validation."""
    if experiment.model.longest is None:
        return
    most = experiment.model.longest - TASKS[experiment.task].marks
    for corpus in held_out(experiment):
        side = TASKS[experiment.task].streams[0]
        texts = read_texts(corpus)[RawPair._fields.index(side)]
        for number, ids in enumerate(getattr(tokenizers, side).encode_batch(texts), start=1):
            if len(ids) > most:
                raise DataError(
                    f"{corpus.name}: pair {number} of the held-out text has a {side} of {len(ids)} tokens, more than "
                    f"the {most} that model.max_positions = {experiment.model.longest} holds: raise it, or shorten the "
                    "text or take it out"
                )


def held_out(experiment: Experiment) -> list[CorpusConfig]:
    """What training must not see: the validation text and every test set."""
    return [experiment.data.valid, *experiment.data.test.values()]
