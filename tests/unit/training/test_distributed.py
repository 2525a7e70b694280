"""How gradients of several processes are summed. Real processes meet in `tests/end_to_end/test_company.py`."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn

from transduce.training import distributed
from transduce.training.distributed import World


@pytest.mark.parametrize("most", [1, 7, 12, 10**6])
def test_every_gradient_is_summed_once_in_messages_of_bounded_size(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    model = nn.ParameterList([torch.zeros(size) for size in ((2, 3), (5,), (4, 3), (1,), (2,), (30,))])
    wanted = []
    for number, parameter in enumerate(model):
        if number != 3:  # which had no part in the update
            parameter.grad = torch.randn(parameter.shape[::-1]).T if number == 2 else torch.randn_like(parameter)
        wanted.append(torch.zeros(1) if parameter.grad is None else 2 * parameter.grad)
    messages: list[int] = []

    def all_reduce(message: torch.Tensor) -> None:
        """Another process has the same gradients."""
        messages.append(message.numel())
        message *= 2

    monkeypatch.setattr(dist, "all_reduce", all_reduce)
    monkeypatch.setattr(distributed, "MESSAGE", most)
    World(0, 2).sum_gradients(model)
    for parameter, expected in zip(model, wanted, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter.grad, expected)
    assert sum(messages) == 56
    assert messages == {1: [6, 5, 12, 1, 2, 30], 7: [6, 5, 12, 3, 30], 12: [11, 12, 3, 30]}.get(most, [56])


def test_one_process_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "all_reduce", lambda message: pytest.fail("to whom?"))
    model = nn.Linear(2, 2)
    World().sum_gradients(model)
    assert model.weight.grad is None
