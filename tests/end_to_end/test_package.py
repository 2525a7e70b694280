"""The face of the package: what it imports, exports, promises, and never does."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import transduce
from tests.support import command
from transduce.errors import ConfigError, DataError, InputError, RunError, TrainingError, TransduceError

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
VERBS = (
    "demo", "train", "prepare", "translate", "fill", "vectors", "generate", "score", "evaluate", "compare", "ablate",
    "inspect", "serve",
)  # fmt: skip


def python(code: str) -> str:
    """Standard output of some code in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, env=command.environment(PYTHONIOENCODING="utf-8"), timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode("utf-8")
    return done.stdout.decode("utf-8")


def test_help_is_there_at_once() -> None:
    """For the program and for each verb, without torch, in one process."""
    found = python(f"""
import sys
from transduce.cli import main
for verb in ([], *([verb] for verb in {VERBS!r})):
    sys.argv = ["transduce", *verb, "--help"]
    try:
        main()
    except SystemExit as end:
        assert end.code == 0
sys.argv = ["transduce", "--version"]
try:
    main()
except SystemExit as end:
    assert end.code == 0
print([name for name in ("torch", "numpy", "sacrebleu", "matplotlib") if name in sys.modules])
""")
    assert found.endswith("[]\n")
    assert f"transduce {transduce.__version__}\n" in found
    assert found.count("Usage: ") == 1 + len(VERBS)
    for verb in VERBS:
        assert verb in found


def test_called_without_a_verb_it_shows_its_help() -> None:
    done = command.transduce()
    assert "Usage: " in done.out.decode("utf-8") + done.err
    assert all(verb in done.out.decode("utf-8") + done.err for verb in VERBS)


def test_public_names() -> None:
    assert sorted(transduce.__all__) == [
        "ConfigError", "DataError", "Experiment", "InputError", "RunError", "TrainingError", "TransduceError",
        "Translation", "Translator", "fill", "generate", "load_experiment", "resume", "train", "vectors",
    ]  # fmt: skip
    for name in transduce.__all__:
        thing = getattr(transduce, name)
        assert thing.__name__ == name
        assert thing.__doc__ or issubclass(thing, Exception)
    with pytest.raises(AttributeError, match="module 'transduce' has no attribute 'nonsense'"):
        _ = transduce.nonsense
    assert re.fullmatch(r"\d+\.\d+\.\d+", transduce.__version__)


def test_exceptions_say_whose_fault_it_is() -> None:
    for kind in (ConfigError, DataError, RunError):
        assert issubclass(kind, InputError) and issubclass(kind, ValueError) and kind.exit_code == 2
    assert not issubclass(TrainingError, ValueError) and TrainingError.exit_code == 1
    assert issubclass(InputError, TransduceError) and issubclass(TrainingError, TransduceError)
    error = DataError("what", path="file.txt", line=3, column=5)
    assert (str(error), error.path, error.line, error.column) == ("file.txt, line 3, column 5: what", "file.txt", 3, 5)


FORBIDDEN_MODULES = {
    "pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve",
    "socket", "http", "urllib", "urllib3", "requests", "httpx", "ftplib", "huggingface_hub",
}  # fmt: skip
HARMLESS = {"urllib.parse": "", "socket": "transduce/serving/server.py"}
"""What connects to nothing: taking addresses apart, anywhere, and listening, in the server."""
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {("torch", "load"), ("torch", "save"), ("torch", "hub"), ("np", "load"), ("numpy", "load")}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_nothing_is_pickled_evaluated_or_fetched(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            names = []
        names = [name for name in names if not path.as_posix().endswith(HARMLESS.get(name, "nowhere"))]
        assert not {name.split(".")[0] for name in names} & FORBIDDEN_MODULES, f"line {node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS, f"line {node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in FORBIDDEN_ATTRIBUTES, f"line {node.lineno}"


def test_every_text_file_is_opened_with_its_encoding() -> None:
    """So that no locale decides what is read or written."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            mode = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
            text_mode = node.func.attr == "open" and isinstance(mode, str) and mode and "b" not in mode
            if text_mode or node.func.attr in ("read_text", "write_text"):
                assert "encoding" in {keyword.arg for keyword in node.keywords}, f"{path}, line {node.lineno}"
