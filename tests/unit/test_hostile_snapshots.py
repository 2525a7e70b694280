"""Snapshots whose manifest fits them and whose content does not fit the run: refused before they cost anything."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch

from tests.support.fresh_run import fresh_run
from transduce.errors import RunError, TransduceError
from transduce.run_folder import RunFolder, Snapshot, read_json, write_snapshot


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.open(fresh_run(tmp_path, "word"))


def put(snapshot: Snapshot, name: str, content: bytes) -> None:
    """A file in place of another, and the manifest made to fit."""
    (snapshot.folder / name).write_bytes(content)
    path = snapshot.folder / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["files"][name] = hashlib.sha256(content).hexdigest()
    path.write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.parametrize("content", [b"[" * 100_000, b"[]", b"null", b"9" * 5000, b"\xff\xfe", b""])
def test_a_state_that_is_no_json_object(run: RunFolder, content: bytes) -> None:
    put(run.weights(), "state.json", content)
    with pytest.raises(RunError, match=r"average/state\.json: (not readable as JSON|expected a JSON object)"):
        run.weights().state()


def test_a_manifest_that_is_nested_too_deep(run: RunFolder) -> None:
    (run.path / "average/manifest.json").write_bytes(b'{"format":' * 100_000)
    with pytest.raises(RunError, match=r"average/manifest\.json: not readable as JSON"):
        run.weights().verify()


@pytest.mark.parametrize("name", ["/dev/zero", "../x.json", "a/b.json", "state.json\0", "", "x" * 10_000])
def test_a_manifest_that_leads_out_of_its_folder(run: RunFolder, name: str) -> None:
    path = run.path / "average/manifest.json"
    path.write_text(json.dumps({"format": 1, "files": {name: "0" * 64}}), encoding="utf-8")
    with pytest.raises(RunError, match="which is no file of a snapshot") as caught:
        run.weights().verify()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("average/weights.safetensors", lambda run: run.weights().tensors("weights")),
        ("experiment.toml", lambda run: run.experiment),
        ("tokenizer.json", lambda run: run.tokenizers),
        ("data.json", lambda run: read_json(run.path / "data.json")),
    ],
)
def test_pipes_and_devices_are_not_waited_for(run: RunFolder, name: str, read: Callable[[RunFolder], object]) -> None:
    path = run.path / name
    path.unlink(missing_ok=True)
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        make(path)
        with pytest.raises(RunError, match=f"{name}: .*not a file"):
            read(RunFolder(run.path))
        path.unlink()


def test_what_cannot_be_cleaned_is_told(run: RunFolder) -> None:
    (run.path / "average").rename(run.path / "best")
    (run.path / ".old-best").write_bytes(b"no folder")
    with pytest.raises(TransduceError, match="could not be written"):
        run.clean()


class Payload:
    """Does something where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise BaseException('unpickled')",)


def test_a_pickle_is_never_unpickled(run: RunFolder, tmp_path: Path) -> None:
    torch.save({"weights": torch.zeros(3)}, tmp_path / "zip")
    for content in (pickle.dumps(Payload()), (tmp_path / "zip").read_bytes()):
        put(run.weights(), "weights.safetensors", content)
        with pytest.raises(RunError, match="not a safetensors file"):
            run.model()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32, torch.bool, torch.float8_e4m3fn])
def test_weights_of_another_type(run: RunFolder, dtype: torch.dtype) -> None:
    snapshot = run.weights()
    weights = {name: tensor.to(dtype) for name, tensor in snapshot.tensors("weights").items()}
    put(snapshot, "weights.safetensors", safetensors.torch.save(weights))
    with pytest.raises(RunError, match=f"is of type {dtype}, the model's of torch.float32"):
        run.model()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("encoder_layers = 1", "encoder_layers = 1000000", "are not the experiment's: .* more than 128 tensors"),
        ("d_ff = 13", "d_ff = 1000000", "the experiment asks for"),
        ("d_model = 12", "d_model = 999999", "the experiment asks for"),
        ('tie = "target"', 'tie = "none"', "target_embedding.weight is missing"),
    ],
)
def test_settings_of_another_size_take_no_memory(run: RunFolder, before: str, after: str, message: str) -> None:
    path = run.path / "experiment.toml"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    started = time.process_time()
    with pytest.raises(RunError, match=f"{run.path}/average: .*{message}"):
        RunFolder.open(run.path).model()
    assert time.process_time() - started < 1


def test_names_in_a_message_are_cut(run: RunFolder) -> None:
    weights = run.weights().tensors("weights")
    write_snapshot(run.path / "average", {"weights": {**weights, "x" * 100_000: torch.zeros(1)}}, {})
    with pytest.raises(RunError, match="xxx is not a weight of this model") as caught:
        run.model()
    assert len(str(caught.value)) < 500
