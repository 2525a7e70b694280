"""The exact choice of the best tokens."""

from __future__ import annotations

import pytest
import torch

from transduce.acceleration import native
from transduce.errors import TransduceError
from transduce.search.stepping import best


@pytest.fixture(params=["native", "plain"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways answer alike."""
    if request.param == "plain":
        monkeypatch.setattr(native, "load", lambda: None)
    elif native.load() is None:
        pytest.skip("no C compiler")


@pytest.mark.parametrize("width", [1, 2, 5, 13])
def test_best_is_a_stable_sort_whatever_is_tied(width: int) -> None:
    generator = torch.Generator().manual_seed(0)
    for levels, size in ((1, 13), (2, 13), (3, 13), (7, 101), (1000, 101)):
        log_probs = -torch.randint(levels, (17, size), generator=generator).float()
        values, places = log_probs.sort(dim=1, descending=True, stable=True)
        found, ids = best(log_probs.clone(), width)
        assert ids.tolist() == places[:, :width].tolist()
        assert found.tolist() == values[:, :width].tolist()


def test_impossible_tokens_cost_no_full_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    log_probs = torch.full((3, 101), -torch.inf)
    log_probs[:, 53] = -1.0
    monkeypatch.setattr(torch.Tensor, "sort", lambda *_, **__: pytest.fail("sorted in full"))
    values, ids = best(log_probs, 2)
    assert ids[:, 0].tolist() == [53] * 3
    assert values[:, 1].tolist() == [-float("inf")] * 3


@pytest.mark.parametrize("place", [0, 5, 100])
def test_what_is_not_a_number_is_refused(place: int) -> None:
    log_probs = torch.full((3, 101), -1.0)
    log_probs[1, place] = torch.nan
    with pytest.raises(TransduceError, match="not numbers"):
        best(log_probs, 3)
