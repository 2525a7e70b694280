"""Questions about stories, by the same commands as translation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.command import InProcess
from tests.support.copy_run import load, write_lines
from tests.support.served import asking
from transduce.demo.questions import Split, pairs
from transduce.experiment import Experiment
from transduce.recipe import train
from transduce.run_folder import RunFolder
from transduce.serving.service import Served

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

STORY = "Lina went to the pond . Omar ran to the mill . Lina walked to the barn ."


def settings(folder: Path, **training: Any) -> dict[str, Any]:
    """One-fact questions as files."""

    def corpus(split: Split, count: int) -> dict[str, Path]:
        chosen = pairs(split, "one-fact")[:count]
        ends = (("source", [s for s, _ in chosen]), ("target", [t for _, t in chosen]))
        return {end: write_lines(folder / f"{split}.{end}", lines) for end, lines in ends}

    return {
        "preset": "tiny",
        "data": {
            "train": [corpus("train", 3000)], "valid": corpus("valid", 50), "test": {"facts": corpus("test", 200)},
        },
        "model": {"kind": "memory_network", "hops": 2, "d_model": 31},
        "training": {
            "batch_tokens": 1024, "update_tokens": 1024, "learning_rate": 1e-2, "warmup": 50, "decay": "linear",
            "max_updates": 300, "validate_every": 300, "save_every": 300, "average": 1, "patience": 0,
            "clip_norm": 1.0, **training,
        },
        "compute": {"device": "cpu", "threads": 1},
    }  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")
    train(Experiment.model_validate(settings(folder)), folder / "run")
    return folder / "run"


def test_what_it_has_learned_is_answered(cli: InProcess, run: Path) -> None:
    assert RunFolder.open(run).experiment.task == "answer"
    chosen = pairs("test", "one-fact")
    found = load(run).translate([source for source, _ in chosen])
    assert sum(t.text == target for t, (_, target) in zip(found, chosen, strict=True)) >= 0.97 * len(chosen)
    asked = [f"{STORY} where is {who} ?" for who in ("Lina", "Omar")]
    assert cli("translate", "--run", run, *asked).succeeded().lines == ["barn", "mill"]
    lines = asked[0].replace(" . ", " .\n")
    assert [t.text for t in load(run).translate([lines, f"\n {asked[1]}\r\n"])] == ["barn", "\n mill\r\n"]
    best = cli("translate", "--run", run, "--nbest", 2, asked[0]).succeeded().lines
    assert len(best) == 2 and best[0].endswith("barn")


def test_a_story_is_served_as_a_whole(run: Path) -> None:
    translator = load(run)
    chosen = [source for source, _ in pairs("test", "one-fact")[:30]]
    expected = [t.text for t in translator.translate(chosen)]
    with asking(Served.of("answers", translator)) as client:
        answer = client.post("/v1/translate", json={"text": chosen, "run": "answers", "nbest": 3}).json()
        assert [one["text"] for one in answer["translations"]] == expected
        lines = f"{STORY}\nwhere is Lina ?".replace(" . ", " .\n")
        assert (
            client.post("/v1/translate", json={"text": lines, "run": "answers"}).json()["translations"][0]["text"]
            == "barn"
        )


def test_answers_are_scored_by_exact_matches(cli: InProcess, run: Path, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "source", [f"{STORY} where is Lina ?", f"{STORY} where is Omar ?"])
    target = write_lines(tmp_path / "target", ["barn", "pond"])
    done = cli("evaluate", "--run", run, "--test", source, target).succeeded()
    assert done.lines[0].startswith("exact 50.00") and done.lines[-1] == "2 lines, one pass, the likeliest answer"
    cli("translate", "--run", run, "--prefix", "barn", STORY).refused("an answer has no beginning to go on from")
