"""The recurrent network by hand and beside PyTorch's own cells."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from transduce.layers.recurrent import Cell
from transduce.models import RnnConfig
from transduce.models.rnn import Rnn

WIDTH, SOURCE_VOCABULARY, TARGET_VOCABULARY, LENGTH = 7, 29, 31, 5
SOURCE = torch.tensor([[21, 28, 23, 23, 25], [22, 21, 24, 0, 0]])
LENGTHS = torch.tensor([5, 3])


def built(**settings: Any) -> Rnn:
    return RnnConfig(d_model=WIDTH, **settings).build(SOURCE_VOCABULARY, TARGET_VOCABULARY).double().eval()


def test_the_articles_equations() -> None:
    """h_t = g(W x_t + U h_{t−1}), y_t = g(V h_t): article 1.4."""
    model = built()
    W, U, b, c = model.recurrent.layers[0].weights  # type: ignore[misc]
    V = model.projection
    h, expected = torch.zeros(WIDTH, dtype=torch.float64), []
    for id in SOURCE[0]:
        x = model.source_embedding.weight[id] * WIDTH**0.5
        h = torch.tanh(W @ x + b + U @ h + c)
        expected.append(torch.softmax(V @ h, 0))
    found = model(SOURCE, LENGTHS)[0].softmax(-1)
    torch.testing.assert_close(found, torch.stack(expected))


CELLS: dict[Cell, type[nn.Module]] = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}


@pytest.mark.parametrize("cell", CELLS)
def test_two_layers_equal_pytorchs_cells(cell: Cell) -> None:
    model = built(cell=cell, layers=2)
    x = model.source_embedding(SOURCE[:1])[0].detach()
    for layer in model.recurrent.layers:
        theirs: Any = CELLS[cell](WIDTH, WIDTH).double()
        with torch.no_grad():
            for mine, other in zip(layer.weights, theirs.parameters(), strict=True):  # type: ignore[arg-type]
                other.copy_(mine)
        state: Any = None
        steps: list[Tensor] = []
        for t in range(LENGTH):
            state = theirs(x[t], state)
            steps.append((state[0] if cell == "lstm" else state).detach())
        x = torch.stack(steps)
    torch.testing.assert_close(model.hidden(SOURCE, LENGTHS)[0], x)


def test_tied_means_one_matrix_for_reading_and_writing() -> None:
    model = RnnConfig(d_model=WIDTH, tie="all").build(SOURCE_VOCABULARY, SOURCE_VOCABULARY)
    assert model.projection is model.source_embedding.weight
    names = {name.split(".")[0] for name, _ in model.named_parameters()}
    # One name for the shared matrix: it is stored once.
    assert names == {"projection", "recurrent"}
