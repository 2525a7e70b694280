"""`transduce train` as a user runs it: train, stop, resume, translate."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command import COMMAND, InProcess, environment, transduce
from tests.support.copy_run import tiny_experiment, write_lines
from transduce.experiment.load import to_toml
from transduce.run_folder import RunFolder
from transduce.training.journal import read_journal


def test_train_then_translate(experiment: Path, tmp_path: Path) -> None:
    test = f'{{ source = "{tmp_path}/valid.txt", target = "{tmp_path}/valid.txt" }}'
    done = transduce(
        "train", experiment, "--run", "out/run", "--set", "training.max_updates=7", "--set", f"data.test.held = {test}",
        cwd=tmp_path,
    ).succeeded()  # fmt: skip
    assert [line.split(" ")[:2] for line in done.lines][:3] == [["held:", name] for name in ("BLEU", "chrF2", "TER")]
    for words in (
        "preset `tiny` was asked for",
        "read 211, kept 211, dropped 0",
        "model: ",
        "effective batch: up to 600 ",
        "compute: cpu, fp32, 1 thread",
        "update 5: validation loss ",
        "update 7: validation loss ",
        "training ended: 7 updates were made (training.max_updates)",
        "run: out/run",
    ):
        assert words in done.err
    results = json.loads((tmp_path / "out/run/results.json").read_text(encoding="utf-8"))
    held = results["tests"]["held"]
    assert [s["name"] for s in held["scores"]][:3] == ["BLEU", "chrF2", "TER"]
    assert f"held: BLEU {held['scores'][0]['value']:.2f}  ({held['scores'][0]['signature']})" == done.lines[0]
    assert len(held["samples"]) == 10 and len(held["sha256"]) == 64
    done = transduce("translate", "--run", tmp_path / "out/run", stdin=b"red\nblue cat\n").succeeded()
    assert done.out.count(b"\n") == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_resume_goes_on(tmp_path: Path, number: signal.Signals, code: int) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(to_toml(tiny_experiment(tmp_path, max_updates=100_000, save_every=100_000)), encoding="utf-8")
    run = tmp_path / "run"
    process = subprocess.Popen(
        [*COMMAND, "train", str(path), "--run", str(run)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not (run / "best/manifest.json").exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        os.kill(process.pid, number)
        out, err = (stream.decode("utf-8") for stream in process.communicate(timeout=60))
    finally:
        process.kill()
    assert process.returncode == code, err
    assert f"interrupted and saved; continue with: transduce train --resume {run}" in err
    assert "Traceback" not in err and out == ""
    (snapshot,) = RunFolder.open(run).checkpoints()
    update = snapshot.state()["update"]
    assert update >= 5
    done = transduce("train", "--resume", run, "--set", f"training.max_updates={update + 3}").succeeded()
    assert f"resumed after update {update}" in done.err
    updates = [e["update"] for e in read_journal(run / "journal.jsonl") if e["event"] == "update"]
    assert updates == list(range(1, update + 4))


def test_resume_in_words(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    cli("train", experiment, "--run", run, "--set", "training.max_updates=5").succeeded()
    cli("train", "--resume", run, "--set", "training.seed=5").refused("--set training.seed=5: a resumed run goes on as")
    cli("train", "--resume", run, "--run", run).refused("leave --run out")
    cli("train").refused("give an experiment file to train, or --resume RUN")
    cli("train", experiment, "--resume", run).refused("give an experiment file to train, or --resume RUN")
    cli("train", experiment, "--run", run).refused(f"{run}: already exists and is not empty")
    done = cli("train", "--resume", run, "--set", "training.max_updates=6").succeeded()
    assert "resumed after update 5" in done.err


def test_the_run_folder_has_the_experiments_name(
    cli: InProcess, experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli("train", experiment, "--set", "training.max_updates=1", "--set", "name=mine").succeeded()
    assert RunFolder.open(tmp_path / "runs/mine").experiment.name == "mine"
    assert (tmp_path / "runs/.cache").is_dir()


def test_case_2_an_empty_target_is_dropped_and_reported(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "target.txt", ["", *(tmp_path / "train.txt").read_text(encoding="utf-8").split("\n")[1:-1]])
    lines = (tmp_path / "target.txt").read_text(encoding="utf-8").split("\n")[:-1]
    write_lines(tmp_path / "target.txt", [lines[1], "", *lines[2:]])
    data = f'[{{ source = "{tmp_path}/train.txt", target = "{tmp_path}/target.txt" }}]'
    done = cli(
        "train", experiment, "--run", tmp_path / "run", "--set", f"data.train={data}", "--set", "training.max_updates=1"
    ).succeeded()
    assert "1 pair dropped: empty target, line 2" in done.err
    report = json.loads((tmp_path / "run/data.json").read_text(encoding="utf-8"))["report"]["corpora"][0]
    assert report["dropped"] == {"empty target": {"count": 1, "lines": [2]}}


def test_case_95_a_record_of_what_made_the_run(cli: InProcess, experiment: Path, tmp_path: Path) -> None:
    weights = []
    for name in ("a", "b"):
        cli("train", experiment, "--run", tmp_path / name, "--set", "training.max_updates=3").succeeded()
        weights.append((tmp_path / name / "average/weights.safetensors").read_bytes())
    assert weights[0] == weights[1]
    results = json.loads((tmp_path / "a/results.json").read_text(encoding="utf-8"))
    assert {"seed", "data_sha256", "compute", "hardware", "transduce", "training_flops"} <= set(results)
    assert {"torch", "python", "cores", "processor"} <= set(results["hardware"])
    assert results["compute"] == "cpu, fp32, 1 thread"
    assert results["weights_sha256"] == hashlib.sha256(weights[0]).hexdigest()
    settings = (tmp_path / "a/experiment.toml").read_bytes()
    assert results["experiment_sha256"] == hashlib.sha256(settings).hexdigest()


def test_case_20_a_run_made_in_the_c_locale_has_the_same_bytes(tmp_path: Path) -> None:
    texts = ["añejo 北京 ŝ", "北京 red", "ŝ añejo red"] * 7
    outputs = {}
    for name, locale in (("utf8", {"LC_ALL": "C.UTF-8"}), ("c", {"LC_ALL": "C", "PYTHONUTF8": "0"})):
        folder = tmp_path / name
        experiment = tiny_experiment(folder, max_updates=2, save_every=2, log_every=2)
        write_lines(folder / "train.txt", texts)
        write_lines(folder / "valid.txt", texts[:3])
        (folder / "e.toml").write_text(to_toml(experiment).replace(str(folder), "."), encoding="utf-8")
        transduce("train", "e.toml", "--run", "run", cwd=folder, env=environment(**locale)).succeeded()
        outputs[name] = {
            str(p.relative_to(folder / "run")): p.read_bytes().replace(str(folder).encode(), b".")
            for p in sorted((folder / "run").rglob("*"))
            # Times are in these.
            if p.is_file() and p.name not in ("journal.jsonl", "results.json", "state.json", "manifest.json")
        }
    assert outputs["utf8"].keys() == outputs["c"].keys()
    assert "北京" in outputs["c"]["tokenizer.json"].decode("utf-8")
    for name, content in outputs["utf8"].items():
        assert outputs["c"][name] == content, name


@pytest.mark.slow
def test_case_82_two_processes_do_what_one_does(tmp_path: Path) -> None:
    """By torchrun, over gloo: the batches of an update are shared, their gradients summed."""
    experiment = tiny_experiment(tmp_path, max_updates=4)
    (tmp_path / "e.toml").write_text(to_toml(experiment), encoding="utf-8")
    transduce("train", tmp_path / "e.toml", "--run", tmp_path / "one").succeeded()
    torchrun = [COMMAND[0], "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    # Without the two dashes torchrun takes --run for one of its own options.
    ours = ["-m", "--", "transduce", "train", str(tmp_path / "e.toml"), "--run", str(tmp_path / "two")]
    done = subprocess.run([*torchrun, *ours], capture_output=True, timeout=200, env=environment(), check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.decode().count("training ended") == 1
    losses = [
        [e["loss"] for e in read_journal(tmp_path / name / "journal.jsonl") if e["event"] == "update"]
        for name in ("one", "two")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    one, two = (RunFolder.open(tmp_path / name).checkpoints()[-1] for name in ("one", "two"))
    for name, tensor in one.tensors("weights").items():
        assert (two.tensors("weights")[name] - tensor).abs().max() < 1e-4
