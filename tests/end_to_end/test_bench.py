"""The benchmark runs from end to end at toy size. Speeds are not judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOY = ["--model", "toy", "--pairs", "60", "--vocabulary", "64", "--threads", "1", "--here"]


def test_training_is_measured_in_turns_on_the_same_updates(tmp_path: Path) -> None:
    words = ["training", *TOY, "--rounds", "2", "--seconds", "0", "--batch-tokens", "128", "--only", "nn."]
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
    words = ["translation", *TOY, "--run", str(run), "--text", str(text), "--sentences", "2", "--rounds", "1"]
    words += ["--one-at-a-time", "0", "--beams", "2", "--only", "CTranslate2 float32"]
    found = _bench(words, tmp_path, "translation-toy")
    (table,) = found["tables"].values()
    assert next(iter(table["rows"])) == "ours float32"
    assert table["rows"]["ours float32"]["same output"] == "100.0%"
    # A peer that this Python lacks is told with the reason, and stops nothing.
    assert "CTranslate2 float32" in {**table["rows"], **found["absent"]}


def _bench(words: list[str], folder: Path, name: str) -> dict:
    command = [sys.executable, "-m", "bench", *words, "--out", str(folder), "--cache", str(folder / "cache")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / f"{name}.png").stat().st_size > 1000
    assert "| contender |" in (folder / f"{name}.md").read_text(encoding="utf-8")
    found: dict = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found
