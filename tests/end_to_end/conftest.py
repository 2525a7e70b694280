"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.anything import Examples
from tests.support.command import InProcess
from tests.support.copy_run import tiny_experiment
from transduce.experiment.load import to_toml


@pytest.fixture
def cli(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], unchecked_shapes: None
) -> InProcess:
    return InProcess(monkeypatch, capfdbinary)


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """An experiment file that trains in a moment; its text lies beside it."""
    path = tmp_path / "experiment.toml"
    path.write_text(to_toml(tiny_experiment(tmp_path)), encoding="utf-8")
    return path


@pytest.fixture(params=[1, pytest.param(10, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])], ids=["few", "many"])
def few(request: pytest.FixtureRequest) -> Examples:
    """Settings with so many examples, or with ten times as many in the slow tests."""
    return lambda count: settings(
        max_examples=count * request.param,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
