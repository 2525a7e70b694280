"""Log-probabilities and the best tokens: native code, the plain code, and what a sort of each row says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from transduce.acceleration import native
from transduce.acceleration.choice import LogSoftmax, best, plain_best

needs_native = pytest.mark.skipif(native.load() is None, reason="no C compiler")
BOTH = [pytest.param(best, marks=needs_native, id="native"), pytest.param(plain_best, id="plain")]
Best = Callable[[Tensor, int], tuple[np.ndarray, np.ndarray]]


def table(seed: int) -> Tensor:
    """Coarse values, so that equals are everywhere, also across the edge of a choice; some at minus infinity."""
    rng = np.random.default_rng(seed)
    rows, vocabulary = int(rng.integers(1, 9)), int(rng.integers(2, 90))
    values = rng.integers(-6, 1, (rows, vocabulary)) / 2 if seed % 3 else rng.normal(size=(rows, vocabulary))
    values[rng.random(values.shape) < (0.3, 0.95)[seed % 2]] = -np.inf
    return torch.from_numpy(values.astype(np.float32))


@pytest.mark.parametrize("function", BOTH)
@pytest.mark.parametrize("seed", range(60))
def test_the_best_are_those_of_a_sort_and_the_lower_id_comes_first(function: Best, seed: int) -> None:
    given = table(seed)
    rows, vocabulary = given.shape
    for width in {1, 2, vocabulary // 2 or 1, vocabulary}:
        values, ids = function(given.clone(), width)
        assert values.shape == ids.shape == (rows, width)
        for row in range(rows):
            line = given[row].tolist()
            expected = sorted(range(vocabulary), key=lambda id, line=line: (-line[id], id))[:width]
            there = [line[id] > -np.inf for id in expected]
            assert values[row].tolist() == [line[id] for id in expected]
            # What stands at minus infinity is never chosen, so its id means nothing.
            assert ids[row][there].tolist() == [id for id, real in zip(expected, there, strict=True) if real]


@pytest.mark.parametrize("function", BOTH)
@pytest.mark.parametrize("place", [0, 7, 40])
def test_a_row_with_nan_begins_with_it(function: Best, place: int) -> None:
    given = table(1).new_full((3, 41), -1.0)
    given[1, place] = float("nan")
    values, _ = function(given, 4)
    assert np.isnan(values[1, 0]) and not np.isnan(values[[0, 2]]).any()


@needs_native
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (64, 1009)])
def test_log_probabilities_are_pytorchs(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    logits = 9 * torch.randn(shape, generator=torch.Generator().manual_seed(5))
    found = LogSoftmax()(logits.clone())
    monkeypatch.setattr(native, "load", lambda: None)
    torch.testing.assert_close(found, LogSoftmax()(logits.clone()), rtol=0, atol=1e-5)
    torch.testing.assert_close(found, torch.log_softmax(logits.double(), 1).float(), rtol=0, atol=1e-5)
