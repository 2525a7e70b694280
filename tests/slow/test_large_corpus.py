"""A corpus of 300,000 pairs: bounded memory, and found again the second time."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import environment
from tests.support.copy_run import WORDS, tiny_experiment
from transduce.experiment import Experiment
from transduce.experiment.load import to_toml

ROOT = Path(__file__).parents[2]
PAIRS = 300_000
PEAK = """
from tests.support.peak import peak
from transduce.cli import main
try:
    main()
finally:
    print(peak())
"""
"""The command line, and how many bytes of memory it took at most."""

ONE_THREAD = {"RAYON_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
"""Each thread of a library keeps some memory of its own, so that the number of cores would be measured too."""

LEARN = """
import sys
from transduce.text import bpe
bpe.LEARNED_BYTES = int(sys.argv.pop(1))
"""
"""Before it: so many bytes of distinct words may be learned from."""


def peak(*arguments: object, script: str = PEAK) -> tuple[int, float]:
    """Bytes of memory that a command took, and the seconds."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True, encoding="utf-8", timeout=280, env=environment(**ONE_THREAD), cwd=ROOT,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split("\n")[-2]), time.monotonic() - started


def several_files(folder: Path) -> Experiment:
    """Three shards with weights of their own; the words come from a list, so their order makes the pairs differ."""
    settings = tiny_experiment(folder, max_updates=3, validate_every=3, save_every=3).model_dump()
    rng = random.Random(4)
    shards = []
    for n, share in enumerate((0.5, 0.3, 0.2)):
        path = folder / f"shard-{n}.txt"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for _ in range(round(share * PAIRS)):
                file.write(" ".join(rng.choices(WORDS, k=rng.randint(3, 30))) + "\n")
        shards.append({"source": path, "target": path, "weight": (1.0, 0.5, 2.0)[n]})
    settings["data"]["train"] = shards
    return Experiment.model_validate(settings)


@pytest.mark.slow
def test_a_large_corpus_takes_bounded_memory_and_is_prepared_once(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(to_toml(several_files(tmp_path)), encoding="utf-8")
    memory, first = peak("train", tmp_path / "e.toml", "--run", tmp_path / "one")
    assert memory < 1e9
    (store,) = (path for path in (tmp_path / ".cache").iterdir() if path.is_dir())
    before = {path.name: path.stat().st_mtime_ns for path in (store, *store.iterdir())}
    memory, second = peak("train", "--resume", tmp_path / "one", "--set", "training.max_updates=4")
    assert memory < 1e9
    assert second < first / 2, "the second start reads what the first wrote"
    assert {path.name: path.stat().st_mtime_ns for path in (store, *store.iterdir())} == before
    report = json.loads((tmp_path / "one/data.json").read_text(encoding="utf-8"))["report"]["corpora"]
    assert [corpus["read"] for corpus in report] == [150_000, 90_000, 60_000]


@pytest.mark.slow
def test_learning_from_ever_new_words_takes_bounded_memory(tmp_path: Path) -> None:
    """60,000 pairs with 10 words each that no other pair has, as in text that has no spaces: 5 MB of them, of which
    a twentieth may be learned from."""
    settings = tiny_experiment(tmp_path).model_dump()
    rng = random.Random(4)
    path = tmp_path / "new.txt"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for _ in range(60_000):
            file.write(" ".join("".join(rng.choices("abcdefghijklm", k=8)) for _ in range(10)) + "\n")
    settings["data"]["train"] = [{"source": path, "target": path}]
    settings["tokenizer"] = {"kind": "bpe", "vocabulary": 1000}
    (tmp_path / "e.toml").write_text(to_toml(Experiment.model_validate(settings)), encoding="utf-8")
    command = "prepare", tmp_path / "e.toml", "--dry-run"
    part, _ = peak(1 << 18, *command, script=LEARN + PEAK)
    whole, _ = peak(1 << 30, *command, script=LEARN + PEAK)
    assert whole - part > 150e6
    assert part < 600e6
