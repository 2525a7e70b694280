"""Run folders that a bad disk or an enemy changed: refused within a second or loaded, never a crash or a pickle.

`tests.support.hostile` says which files, and what is done with each; a fault names the mutant that showed it, which
`tests.support.mutants` makes again from its number.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hostile import TARGETS, Target, make_runs, try_mutants

FEW = {"translate": 60, "prepare": 60, "resume": 10}
"""Mutants of each file in the quick test, by what is done with it; a resumed run takes five times as long."""
MANY = 2000
"""Mutants of each type of file, shared among the runs that have one."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_runs(tmp_path_factory.mktemp("runs"))


def test_a_few_mutants_of_every_file(runs: Path, tmp_path: Path) -> None:
    faults = try_mutants(runs, tmp_path / "work", [(t, n) for t in TARGETS for n in range(FEW[t.action])])
    assert not faults, "\n".join(faults)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_many_mutants(runs: Path, tmp_path: Path, target: Target) -> None:
    kind = [other for other in TARGETS if Path(other.name).name == Path(target.name).name]
    faults = try_mutants(runs, tmp_path / "work", [(target, n) for n in range(kind.index(target), MANY, len(kind))])
    assert not faults, "\n".join(faults)
