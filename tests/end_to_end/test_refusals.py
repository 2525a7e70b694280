"""What cannot work is refused before it costs anything: exit code 2, what is wrong, what to do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.support.command import InProcess, environment, transduce
from tests.support.copy_run import write_lines
from transduce.run_folder import RunFolder, write_snapshot


def corpora(**files: object) -> list[str]:
    fields = ", ".join(f'{name} = "{path}"' for name, path in files.items())
    return ["--set", f"data.train=[{{ {fields} }}]"]


def test_case_11_text_files_that_do_not_fit(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    three = write_lines(tmp_path / "three.txt", ["a", "b", "c"])
    four = write_lines(tmp_path / "four.txt", ["a", "b", "c", "d"])
    empty = write_lines(tmp_path / "empty.txt", [])
    none = tmp_path / "none.txt"
    train = ["train", experiment, "--run", tmp_path / "run"]
    cli(*train, *corpora(source=three, target=four)).refused(str(three), str(four), "3 vs 4")
    cli(*train, *corpora(source=three, target=none)).refused(f"{none}: no such file")
    cli(*train, *corpora(source=empty, target=empty)).refused(f"{empty}: the file is empty")
    cli(*train, *corpora(tsv=tmp_path)).refused(f"{tmp_path}: expected a regular file")
    cli(*train, *corpora(tsv=three)).refused(f"{three}, line 1: expected at least 2 columns separated by tabs, got 1")
    cli(*train, *corpora(jsonl=three)).refused(f"{three}, line 1: expected a JSON object")
    cli(*train, "--set", f'data.valid={{ tsv = "{none}" }}').refused(f"{none}: no such file")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("settings", "messages"),
    [
        (["model.heads=5"], ["heads = 5 does not divide d_model = 12"]),
        (["model.dmodel=5"], ["unknown key `model.dmodel`: did you mean `d_model`?"]),
        (["trainig.seed=5"], ["unknown key `trainig`: did you mean `training`?"]),
        (
            ["tokenizer.vocabulary=999", "tokenizer.if_too_large=stop"],
            ["tokenizer.vocabulary = 999", "at most 84"],
        ),
        (["tokenizer.joint=false"], ['model.tie = "all"']),
        (["compute.device=cuda"], ["compute.device = 'cuda': this machine"]),
        (["training.seed"], ["--set training.seed: expected KEY.KEY=VALUE"]),
        (["source_vectors=vectors.txt"], ["vectors.txt", "no such file"]),
    ],
)
def test_settings_that_do_not_hold(
    cli: InProcess, experiment: Path, tmp_path: Path, settings: list[str], messages: list[str]
) -> None:
    if "cuda" in settings[0] and torch.cuda.is_available():
        pytest.skip("this machine has it")
    words = [word for setting in settings for word in ("--set", setting)]
    cli("train", experiment, "--run", tmp_path / "run", *words).refused(*messages)
    assert not (tmp_path / "run").exists()


def test_experiments_that_are_none(cli: InProcess, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[data\n")
    for verb in ("train", "prepare"):
        cli(verb, tmp_path / "none.toml").refused("none.toml: no such experiment file")
        cli(verb, tmp_path / "bad.toml").refused("bad.toml: not valid TOML")


@pytest.fixture
def run(copy_run: Path, tmp_path: Path) -> Path:
    """A copy of a good run, to be spoiled."""
    shutil.copytree(copy_run, tmp_path / "run")
    return tmp_path / "run"


def empty(run: Path) -> None:
    shutil.rmtree(run)
    run.mkdir()


def without_tokenizer(run: Path) -> None:
    (run / "tokenizer.json").unlink()


def without_weights(run: Path) -> None:
    for name in ("average", "best", "checkpoints"):
        shutil.rmtree(run / name)


def truncated(name: str) -> Callable[[Path], None]:
    def spoil(run: Path) -> None:
        content = (run / name).read_bytes()
        (run / name).write_bytes(content[: len(content) // 2])

    return spoil


def newer(run: Path) -> None:
    path = run / "average/manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))


def other_shape(run: Path) -> None:
    path = run / "experiment.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("d_ff = 64", "d_ff = 61"), encoding="utf-8")


def not_finite(run: Path) -> None:
    weights = RunFolder.open(run).weights().tensors("weights")
    next(iter(weights.values())).view(-1)[3] = float("nan")
    write_snapshot(run / "average", {"weights": weights}, {})


SPOILT = [
    (lambda run: shutil.rmtree(run), "no such run folder"),
    (empty, "not a run folder, or an incomplete one: experiment.toml and tokenizer.json missing"),
    (without_tokenizer, "tokenizer.json missing"),
    (without_weights, "holds no weights: the run has not reached its first checkpoint"),
    (truncated("experiment.toml"), "the file was cut"),
    (truncated("tokenizer.json"), "not a valid tokenizer file"),
    (truncated("average/manifest.json"), "average/manifest.json: not readable as JSON"),
    (truncated("average/weights.safetensors"), "the file is cut or changed; take another checkpoint (--weights)"),
    (newer, "format 99, this version of transduce reads 1"),
    (other_shape, "the experiment asks for"),
    (not_finite, "holds values that are not finite"),
]


@pytest.mark.parametrize(("spoil", "message"), SPOILT)
def test_runs_that_are_not_whole(cli: InProcess, run: Path, spoil: Callable[[Path], None], message: str) -> None:
    spoil(run)
    cli("translate", "--run", run, "red").refused(message, str(run))


def test_other_weights_of_a_spoilt_run_still_work(cli: InProcess, run: Path) -> None:
    truncated("average/weights.safetensors")(run)
    assert cli("translate", "--run", run, "red", "--weights", "best").succeeded().lines == ["red"]


def test_a_loss_that_is_not_finite_ends_training_with_code_1(experiment: Path, tmp_path: Path) -> None:
    done = transduce(
        "train", experiment, "--run", tmp_path / "run",
        *("--set", "training.learning_rate=1e30", "--set", "training.warmup=1", "--set", "training.save_every=1"),
    )  # fmt: skip
    done.refused("the loss is nan in epoch 1, update 2 of it (lines ", "step-1", code=1)
    RunFolder.open(tmp_path / "run").weights("last").verify()


def test_as_processes(experiment: Path, tmp_path: Path) -> None:
    transduce("train", experiment, "--set", "model.heads=5").refused("heads = 5 does not divide d_model = 12")
    transduce("translate", "--run", tmp_path, "red").refused("not a run folder")
    # The parser's own refusals have the same code.
    assert transduce("translate", "--beem", "3").code == 2
    assert transduce("tranlsate").code == 2


SCARCE = """
import resource, sys
from pathlib import Path
import torch
from transduce.cli import main
from transduce.commands import translate
mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + 2**25, mapped + 2**25))
main()
"""
"""The command line with 32 MiB more than it has once it is loaded."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds a process's address space")
def test_running_out_of_memory_is_said_in_words(tmp_path: Path) -> None:
    text = write_lines(tmp_path / "text", ["我爱水课" * 4] * 64)
    done = subprocess.run(
        [sys.executable, "-c", SCARCE, "translate", "--file", str(text), "--beam", "50"],
        capture_output=True, encoding="utf-8", env=environment(), timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "transduce: out of memory: take fewer lines at once (--batch)" in done.stderr
    assert "Traceback" not in done.stderr
