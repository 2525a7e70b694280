"""Hypotheses in a grid: each sees its own past, wherever it was written."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from transduce.layers.grid import Grid, Past

CPU = torch.device("cpu")


def seen(grid: Grid) -> list[list[int]]:
    """Of each row, the numbers of its sentence's tokens that it sees."""
    assert grid.visible is not None
    return [grid.visible[place].nonzero()[:, 0].tolist() for place in grid.places]


def select(grid: Grid, *rows: int) -> tuple[Grid, list[int] | None]:
    new, kept = grid.select(np.array(rows))
    return new, None if kept is None else kept.tolist()


def test_one_hypothesis_a_sentence_needs_no_mask() -> None:
    grid = Grid.start(3).grow(0, CPU).grow(1, CPU)
    assert grid.full and grid.mask() is None
    assert grid.places.tolist() == [0, 1, 2]


def test_ancestry_by_hand() -> None:
    grid = Grid.start(2).grow(0, CPU)
    grid, kept = select(grid, 0, 0, 1, 1)
    assert kept is None and grid.full and (grid.sentences, grid.width) == (2, 2)
    # Token 0 is the common one; tokens 1 and 2 are written by the first and second place.
    grid = grid.grow(1, CPU)
    assert seen(grid) == [[0, 1], [0, 2], [0, 1], [0, 2]]
    # Both go on from the second hypothesis of sentence 0; those of sentence 1 change places.
    grid, kept = select(grid, 1, 1, 3, 2)
    assert kept is None
    grid = grid.grow(3, CPU)
    assert seen(grid) == [[0, 2, 3], [0, 2, 4], [0, 2, 3], [0, 1, 4]]
    mask = grid.mask()
    assert mask is not None and mask.shape == (2, 1, 2, 5)


def test_sentences_leave_and_places_stay_empty() -> None:
    grid = select(Grid.start(3).grow(0, CPU), 0, 0, 1, 1, 2, 2)[0].grow(1, CPU)
    grid, kept = select(grid, 4, 1, 0, 1)
    assert kept == [0, 2] and not grid.full
    # Three hypotheses of sentence 0 and one of sentence 2, in the order in which they were asked for.
    assert grid.places.tolist() == [3, 0, 1, 2]
    grid = grid.grow(3, CPU)
    assert seen(grid) == [[0, 1, 3], [0, 2, 3], [0, 1, 4], [0, 2, 5]]
    rows = torch.tensor([11, 13, 17, 19])
    spread = grid.spread(rows)
    assert spread.tolist() == [13, 17, 19, 11, 0, 0]
    assert grid.gather(spread.view(2, 3, 1).float())[:, 0].tolist() == rows.tolist()
    assert grid.visible is not None and grid.visible.any(1).all(), "softmax over nothing is not a number"


@pytest.mark.parametrize("steps", [3, 50])
def test_a_past_grows_and_its_successors_do_not_disturb_one_another(steps: int) -> None:
    keys, values = torch.randn(steps, 3, 2, 5, 7), torch.randn(steps, 3, 2, 5, 11)
    past = Past.start(keys[0], values[0])
    for k, v in zip(keys, values, strict=True):
        past = past.append(k, v)
    first = past.append(keys[0], values[0])
    second = past.append(keys[1], values[1])
    for found, last in ((first, 0), (second, 1)):
        order = [*range(steps), last]
        torch.testing.assert_close(found.keys, torch.cat([keys[i] for i in order], 2))
        torch.testing.assert_close(found.values, torch.cat([values[i] for i in order], 2))
    kept = first.select(torch.tensor([0, 2]))
    torch.testing.assert_close(kept.append(keys[2][[0, 2]], values[2][[0, 2]]).keys[:, :, -5:], keys[2][[0, 2]])
    torch.testing.assert_close(first.keys[:, :, -5:], keys[0])
