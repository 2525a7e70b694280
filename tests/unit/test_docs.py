"""The documents say what is so: what they name exists, what they list is complete, and their examples run."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from transduce.demo.corpus import pairs
from transduce.demo.shipped import RUN
from transduce.experiment.load import load

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """The fenced code of a language, without its fences."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


EXAMPLES = blocks(text_of("README.md"), "python")


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as links to them spell them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^\s*```.*?^\s*```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    missing = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(link)
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    """And hold the name that stands behind a colon: `src/a.py:Name`, `tests/b.py:test_beginning`."""
    wrong = []
    named = r"`((?:src|tests|docs|experiments)/[\w./-]*)(?::(\w+))?`"
    for path, name in re.findall(named, page.read_text(encoding="utf-8")):
        file = ROOT / path
        if not file.exists() or (name and not defines(file, name)):
            wrong.append(f"{path}:{name}")
    assert not wrong


def defines(file: Path, name: str) -> bool:
    """Whether a module defines the name; of a test, its beginning is enough."""
    end = r"\w*" if name.startswith("test_") else r"\b"
    pattern = rf"^ *(?:def|class) {name}{end}|^{name}\b.*="
    return re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_architecture_has_the_order_that_is_checked() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    checked = [layer.replace("transduce.", "") for c in contracts if c["type"] == "layers" for layer in c["layers"]]
    architecture = text_of("ARCHITECTURE.md")
    assert blocks(architecture, "")[0].split("\n")[:-1] == checked
    for name in (part for layer in checked for part in layer.split(" | ")):
        assert re.search(rf"`{name}(?:/|\.py)`", architecture), f"{name} is not explained"


def test_reference_is_what_the_script_makes() -> None:
    made = runpy.run_path(str(ROOT / "docs/build_reference.py"))["build"]()
    assert text_of("docs/experiments.md") == made, "run: .venv/bin/python docs/build_reference.py"


def test_cases_are_closed_by_tests_that_name_them() -> None:
    rows = re.findall(r"^\| (\d+) \|.*\| (.*?) \|$", text_of("docs/cases.md"), re.MULTILINE)
    assert len(rows) > 40
    wrong = []
    for number, closing in rows:
        for path in re.findall(r"`(tests/[^`]*)`", closing):
            if not re.search(rf"def test_\w*case_{number}(?!\d)", text_of(path)):
                wrong.append((number, path))
    assert not wrong


def test_both_readmes_have_the_same_examples() -> None:
    first, second = (path.read_text(encoding="utf-8") for path in READMES)
    for language in ("toml", "python"):
        assert blocks(first, language) == blocks(second, language)
    commands = [[re.sub(r" +#.*", "", block) for block in blocks(text, "sh")] for text in (first, second)]
    assert commands[0] == commands[1]


def test_the_readmes_experiment_is_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(blocks(text_of("README.md"), "toml")[0], encoding="utf-8")
    loaded = load(path, [], lambda corpora: 4099)
    assert loaded.experiment.preset == "tiny"
    assert loaded.experiment.data.train[0].source == tmp_path / "train.zh"
    assert list(loaded.experiment.data.test) == ["letters"]


@pytest.mark.parametrize(
    "example",
    [pytest.param(e, id=str(i), marks=[pytest.mark.slow] if "train(" in e else []) for i, e in enumerate(EXAMPLES)],
)
def test_the_readmes_python_runs(example: str, tmp_path: Path) -> None:
    if not (RUN / "experiment.toml").exists():
        pytest.skip("no demo run has been made yet")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/demo").symlink_to(RUN, target_is_directory=True)
    (tmp_path / "mine.toml").write_text(blocks(text_of("README.md"), "toml")[0], encoding="utf-8")
    for split, count in (("train", 61), ("valid", 5), ("test", 5)):
        for side, language in (("source", "zh"), ("target", "en")):
            lines = "".join(f"{getattr(pair, side)}\n" for pair in pairs(split)[:count])
            (tmp_path / f"{split}.{language}").write_text(lines, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if "nbest" in example:
        assert "我爱水课 → I love easy courses" in done.stdout
