"""The experiments of the rows: one text, one budget, one part changed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.support.copy_run import copy_settings, tiny_experiment
from transduce.ablation.plan import Variant, plan, trials_of
from transduce.ablation.rows import choose
from transduce.comparison.family import Budget
from transduce.errors import ConfigError
from transduce.experiment import Experiment


def variants(base: Experiment, folder: Path, *groups: str, tokens: int | None = None) -> dict[str, Variant]:
    found = plan(base, Budget(tokens), choose(groups), [3, 5], folder / ".cache")
    return {variant.row.name: variant for variant in found}


def test_only_what_the_row_changes_differs_from_the_base(tmp_path: Path) -> None:
    found = variants(tiny_experiment(tmp_path), tmp_path)
    base = found["base"].trials[0].experiment
    for name, variant in found.items():
        if variant.same_as:
            continue
        assert [trial.experiment.training.seed for trial in variant.trials] == [3, 5]
        one = variant.trials[0].experiment
        assert one.name == f"{name}-seed3" and (one.data, one.tokenizer) == (base.data, base.tokenizer)
        model = {k for k, v in one.model.model_dump().items() if v != base.model.model_dump()[k]}
        training = {k for k, v in one.training.model_dump().items() if v != base.training.model_dump()[k]}
        assert model | (training - {"learning_rate"}) == {k for k in variant.changes if _differs(variant, base, k)}
        assert ("learning_rate" in training) == (one.model.model_dump()["d_model"] != 12)


def _differs(variant: Variant, base: Experiment, key: str) -> bool:
    before = {**base.model.model_dump(), "label_smoothing": base.training.label_smoothing}[key]
    return bool(variant.changes[key] != before)


def test_rows_that_come_to_the_same_are_trained_once(tmp_path: Path) -> None:
    # One layer: a third, two thirds and four thirds of it are one as well.
    found = variants(tiny_experiment(tmp_path), tmp_path, "C")
    assert [found[name].same_as for name in ("C-N2", "C-N4", "C-N8", "C-d256")] == ["base", "base", "base", ""]
    assert found["C-N2"].trials == found["base"].trials
    jobs = trials_of(list(found.values()))
    assert [job.name for job in jobs][:3] == ["base-seed3", "C-d256-seed3", "C-d1024-seed3"]
    assert len({job.name for job in jobs}) == len(jobs) == 2 * 5


def test_a_wider_model_has_a_lower_rate_and_all_the_same_budget(tmp_path: Path) -> None:
    settings = copy_settings(tmp_path, pairs=211, training={"batch_tokens": 300, "update_tokens": 300})
    found = variants(Experiment.model_validate(settings), tmp_path, "C", "big", tokens=4000)
    rates = {name: v.trials[0].experiment.training.learning_rate for name, v in found.items()}
    assert rates["base"] == rates["C-N8"] == 1e-2
    assert rates["C-d1024"] == rates["big"] == pytest.approx(1e-2 / math.sqrt(2))
    assert rates["C-d256"] == pytest.approx(1e-2 * math.sqrt(2))
    trainings = [v.trials[0].experiment.training for v in found.values()]
    assert len({(t.max_updates, t.warmup, t.average) for t in trainings}) == 1
    assert trainings[0].max_updates < 30 and trainings[0].average == 1


def test_what_is_no_base_is_refused(tmp_path: Path) -> None:
    table = tiny_experiment(tmp_path).model_dump(mode="json", exclude_none=True)
    rnn = Experiment.model_validate(table | {"model": {"kind": "seq2seq", "d_model": 12, "layers": 1}})
    with pytest.raises(ConfigError, match=r'model\.kind = "seq2seq"'):
        variants(rnn, tmp_path)
    vectors = Experiment.model_validate(table | {"source_vectors": str(tmp_path / "v.txt")})
    with pytest.raises(ConfigError, match=r"source_vectors: .*leave it out"):
        variants(vectors, tmp_path)
