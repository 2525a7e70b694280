"""`transduce inspect`: pictures, reports and numbers without a browser or a server."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs
from urllib.request import Request, urlopen

import numpy as np
import pytest

from tests.support.command import InProcess, environment, transduce
from transduce.demo.shipped import RUN
from transduce.inspection import Recording


def test_the_demo_by_default_in_any_locale(tmp_path: Path) -> None:
    out = tmp_path / "a.html"
    done = transduce("inspect", "我爱水课", "--out", out, env=environment(LC_ALL="C")).succeeded()
    assert done.out == b"I love easy courses\n"
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "no --run given, so this is the demo model" in done.err and f"wrote {out}" in done.err


def test_numbers_open_with_numpy_and_as_a_recording(cli: InProcess, tmp_path: Path) -> None:
    out = tmp_path / "a.npz"
    given = ("inspect", "我爱水课", "--run", RUN, "--target", "I love water courses", "-o", out, "--beam", 2)
    assert cli(*given).succeeded().lines == ["I love water courses"]
    with np.load(out, allow_pickle=False) as file:
        assert file["decoder.1.cross.weights"].shape == (4, 5, 5)
    recording = Recording.load(out)
    assert recording.translation == "I love water courses"
    assert recording.tree is not None and recording.tree.beam == 2


def test_a_picture_of_a_layer_or_a_head(cli: InProcess, tmp_path: Path) -> None:
    given = ("inspect", "我爱水课", "--run", RUN, "--layer", "decoder.1.cross")
    assert cli(*given, "--out", tmp_path / "layer.PNG", "--by", "words").succeeded().lines == ["I love easy courses"]
    assert cli(*given, "--out", tmp_path / "head.svg", "--head", 1).succeeded().lines == ["I love easy courses"]
    assert (tmp_path / "head.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "layer.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--out", "a.pdf"], ["--out a.pdf: expected a name that ends in .png, .svg, .html or .npz"]),
        (["--out", "nowhere/a.png"], ["--out nowhere/a.png: expected a file in a folder that is there"]),
        (["--out", "a.png", "--by", "letters"], ["--by letters: expected pieces, characters, words"]),
        (["--out", "a.html", "--layer", "x"], ["--layer and --head choose what a .png or .svg shows; a.html has all"]),
        (["--out", "a.png", "--head", "1"], ["head 1 of which layer? Name one of encoder.0.self"]),
        (["--out", "a.png", "--layer", "7"], ["no attention at '7': expected one of encoder.0.self, "]),
        (["--out", "a.png", "--layer", "decoder.0.self", "--head", "4"], ["head 4 of decoder.0.self: expected 0 to 3"]),
        (["--out", "a.png", "--beam", "0"], ["`beam` = 0"]),
        (["--out", "a.png", "--target", " "], ["target ' ': expected one line of text"]),
        (["--out", "a.png", "--run", "nowhere"], ["nowhere"]),
        (["--by", "letters"], ["--by letters: expected pieces, characters, words"]),
    ],
)
def test_mistakes_are_said(
    cli: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = [] if "--run" in given else ["--run", RUN]
    cli("inspect", "我", *run, *given).refused(*words)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_of_a_sentence(cli: InProcess, tmp_path: Path) -> None:
    cli("inspect", "--run", RUN, "--out", tmp_path / "a.html").refused("of which sentence? Name one before it")
    assert list(tmp_path.iterdir()) == []


def test_a_file_needs_neither_browser_nor_server(tmp_path: Path) -> None:
    without = "import sys; sys.modules.update(dict.fromkeys(['fastapi', 'uvicorn', 'starlette', 'webbrowser'])); "
    given = ["transduce", "inspect", "水有毒", "--run", str(RUN), "--out", str(tmp_path / "a.html")]
    code = f"{without}sys.argv = {given!r}; from transduce.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr.decode()
    assert '"text":"水有毒"' in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_without_out_the_page_is_served_to_this_machine_until_ctrl_c() -> None:
    command = [sys.executable, "-m", "transduce", "inspect", "我爱水课", "--run", str(RUN), "--no-open", "--beam", "12"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        found = re.match(r"transduce: (http://127\.0\.0\.1:\d+)(/#inside/walk\?\S+) serves", told)
        assert found, told + process.stderr.read() if process.stderr else told
        assert parse_qs(found[2].partition("?")[2]) == {"text": ["我爱水课"], "beam": ["12"], "unit": ["pieces"]}
        with urlopen(found[1], timeout=60) as page:
            assert page.read().startswith(b"<!doctype html>")
        body = json.dumps({"run": RUN.name, "text": "我爱水课", "beam": 12}).encode()
        asked = Request(f"{found[1]}/inspect/record", body, {"Content-Type": "application/json"})
        with urlopen(asked, timeout=240) as answer:
            assert json.load(answer)["notes"]["tree"]["beam"] == 12
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 0 and "Traceback" not in error, error
