"""The exact choice of the best tokens."""

from __future__ import annotations

import pytest
import torch

from transduce.search.stepping import best


@pytest.mark.parametrize("width", [1, 2, 5, 11, 13])
def test_best_is_a_stable_sort_whatever_is_tied(width: int) -> None:
    generator = torch.Generator().manual_seed(0)
    for levels in (1, 2, 3, 7, 1000):
        log_probs = -torch.randint(levels, (17, 11), generator=generator).float()
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
