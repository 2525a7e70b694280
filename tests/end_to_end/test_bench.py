"""The benchmark runs from end to end at toy size. Speeds are not judged here."""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOY = ["--model", "toy", "--threads", "1", "--here"]
TEXT = ["--pairs", "60", "--vocabulary", "64"]


def test_training_is_measured_in_turns_on_the_same_updates(tmp_path: Path) -> None:
    words = ["training", *TOY, *TEXT, "--rounds", "2", "--seconds", "0", "--batch-tokens", "128", "--only", "nn."]
    found = _bench(words, tmp_path, "training-toy")
    (table,) = found["tables"].values()
    assert list(table["rows"]) == ["ours", "nn.Transformer"]
    assert all(len(row["rounds"]) == 2 and min(row["rounds"]) > 0 for row in table["rows"].values())
    assert table["rows"]["ours"]["ratio"] == 1
    # The same model: all but the biases and norms that PyTorch's encoder and decoder have at their ends.
    sizes = {name: found["contenders"][name]["parameters"] for name in table["rows"]}
    assert sizes["nn.Transformer"] - sizes["ours"] == 2 * 2 * 16
    assert len(found["ceilings"]) == 2
    assert found["signature"]["command"].startswith("python -m bench training")


def test_translation_is_measured_with_every_engine_that_is_there(tmp_path: Path) -> None:
    run, text = ROOT / "src" / "transduce" / "demo" / "run", tmp_path / "text"
    text.write_text("我爱水课\n我喜欢茶\n", encoding="utf-8")
    words = ["translation", *TOY, *TEXT, "--run", str(run), "--text", str(text), "--sentences", "2", "--rounds", "1"]
    words += ["--one-at-a-time", "0", "--beams", "2", "--only", "CTranslate2 float32"]
    found = _bench(words, tmp_path, "translation-toy")
    (table,) = found["tables"].values()
    assert next(iter(table["rows"])) == "ours float32"
    assert table["rows"]["ours float32"]["same output"] == "100.0%"
    peer = "CTranslate2 float32"
    if importlib.util.find_spec("ctranslate2") is None:
        # A peer that this Python lacks is told with the reason, and stops nothing.
        assert "ctranslate2" in found["absent"][peer] and peer not in table["rows"]
    else:
        assert table["rows"][peer]["same output"] == "100.0%"


def test_the_gpu_script_runs_on_a_cpu(tmp_path: Path) -> None:
    words = ["gpu", *TOY, *TEXT, "--minutes", "1", "--rounds", "1", "--seconds", "0", "--batch-tokens", "128"]
    words += ["--sentences", "2", "--by-heart", "2", "--epochs", "1", "--one-at-a-time", "0", "--beams", "1"]
    found = _bench(words, tmp_path, "gpu-toy")
    training, *translation = found["tables"].values()
    assert set(training["rows"]) == {"ours", "nn.Transformer"}
    assert len(translation) == 1 and "ours float32" in translation[0]["rows"]
    assert "There is no GPU here: this is a test on the CPU." in (tmp_path / "gpu-toy.md").read_text(encoding="utf-8")


def test_each_fast_path_is_switched_off_in_turn(tmp_path: Path) -> None:
    words = ["parts", *TOY, *TEXT, "--rounds", "1", "--updates", "1", "--batch-tokens", "128", "--sentences", "4"]
    found = _bench(words, tmp_path, "parts-toy")
    training, *translation = found["tables"].values()
    assert list(training["rows"]) == [
        "ours", *(f"without native {part}" for part in ("products", "attention", "loss", "dropout")),
        "with no dropout at all",
    ]  # fmt: skip
    assert len(translation) == 4 and all(len(table["rows"]) >= 5 for table in translation)


@pytest.mark.slow
def test_scaling_is_measured_at_each_point_of_an_axis(tmp_path: Path) -> None:
    words = ["scaling", *TOY, "--rounds", "1", "--updates", "1", "--sentences", "2", "--axes", "length", "beam"]
    words += ["--lengths", "4", "8", "--beams", "1", "2"]
    found = _bench(words, tmp_path, "scaling-toy")
    assert [list(table["rows"]) for table in found["tables"].values()] == [
        ["ours, length 4", "nn.Transformer, length 4", "ours, length 8", "nn.Transformer, length 8"],
        ["ours, length 4", "ours, length 8"],
        ["ours, beam 1", "ours, beam 2"],
    ]


def test_preparation_is_measured_on_a_corpus_that_is_made_large(tmp_path: Path) -> None:
    tsv, valid = tmp_path / "few.tsv", tmp_path / "valid.tsv"
    tsv.write_text("".join(f"the {n} letters\tdie {n} Briefe\n" for n in range(200)), encoding="utf-8")
    valid.write_text("a letter\tein Brief\n", encoding="utf-8")
    corpus = [sys.executable, "-m", "bench", "corpus", str(tmp_path / "large"), str(tsv), "--valid", str(valid)]
    subprocess.run([*corpus, "--pairs", "1500"], cwd=ROOT, check=True, capture_output=True)
    shards = sorted(path.name for path in (tmp_path / "large").glob("*.gz"))
    assert len(shards) == 6 and shards[0] == "text-0-0.source.gz"
    small = ["--set", "tokenizer.vocabulary=300", "--set", "training.batch_tokens=512"]
    found = _bench(["preparation", str(tmp_path / "large" / "large.toml"), *small], tmp_path, "preparation")
    (name,), (table,) = found["tables"], found["tables"].values()
    assert name == "Preparation of 1,500 pairs" and table["rows"]["transduce prepare"]["rounds"][0] > 0


@pytest.mark.slow
def test_time_to_score_is_measured_through_our_own_loop(tmp_path: Path) -> None:
    lines = {
        "train": [f"{a} {b} {c}" for a in "abcd" for b in "efgh" for c in "ijkl"],
        "val": ["e a", "f b i", "g c d"],
    }
    for name in ("train.en", "train.de", "val.en", "val.de"):
        with gzip.open(tmp_path / f"{name}.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines[name.partition(".")[0]])
    words = ["score", *TOY, "--raw", str(tmp_path), "--minutes", "4", "--slice", "5", "--updates", "30"]
    words += ["--validate-every", "10", "--batch-tokens", "512", "--vocabulary", "300"]
    found = _bench(words, tmp_path, "score-toy")
    assert "Joey NMT" in found["absent"], "--here: this Python lacks it"
    (table,) = found["tables"].values()
    row = table["rows"]["ours"]
    assert 0 <= float(row["best BLEU"]) <= 100 and min(row["rounds"]) > 0


def _bench(words: list[str], folder: Path, name: str) -> dict:
    command = [sys.executable, "-m", "bench", *words, "--out", str(folder), "--cache", str(folder / "cache")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / f"{name}.png").stat().st_size > 1000
    assert "| contender |" in (folder / f"{name}.md").read_text(encoding="utf-8")
    found: dict = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found
