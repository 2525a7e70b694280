"""Makes the run folder of a release, which every later release must be able to load.

    python tests/data/make_run.py      writes tests/data/run-VERSION beside this file

Once committed, such a folder is never made anew.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.support.copy_run import tiny_experiment  # noqa: E402

from transduce import Experiment, Translator, __version__, train  # noqa: E402
from transduce.devices import ComputeConfig  # noqa: E402

PAIRS = [("red blue cat", "red blue cat"), ("one", "two three ."), ("我爱水课 dog", "Zyxel"), ("", "red")]


def without_paths(settings: dict[str, Any]) -> dict[str, Any]:
    """The text by its bare name: a run folder must not tell where it was made."""
    valid = {"source": "valid.txt", "target": "valid.txt"}
    return {
        **settings,
        "data": {**settings["data"], "train": [{"source": "train.txt", "target": "train.txt"}], "valid": valid},
    }


def main() -> None:
    target = HERE / f"run-{__version__}"
    if target.exists():
        raise SystemExit(f"{target} is there already")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        settings = without_paths(tiny_experiment(Path(folder), max_updates=10, save_every=10).model_dump())
        run = Path("run")
        train(Experiment.model_validate(settings), run)
        for name in ("experiment.toml", "tokenizer.json", "journal.jsonl"):
            target.mkdir(exist_ok=True)
            shutil.copy(run / name, target)
        for name in ("average", "best", "checkpoints"):
            shutil.copytree(run / name, target / name)
        scored = Translator.load(run, compute=ComputeConfig(device="cpu", threads=1)).score(*zip(*PAIRS, strict=True))
        rows = [
            [source, translation, s.token_log_probabilities]
            for (source, translation), s in zip(PAIRS, scored, strict=True)
        ]
        (target / "expected.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
