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

    def reduce(message: torch.Tensor, *, dst: int) -> None:
        """Another process has the same gradients."""
        messages.append(message.numel())
        message *= 2
        assert dst == 0

    monkeypatch.setattr(dist, "reduce", reduce)
    monkeypatch.setattr(distributed, "MESSAGE", most)
    World(0, 2).sum_gradients(model)
    for parameter, expected in zip(model, wanted, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter.grad, expected)
    assert sum(messages) == 56
    assert messages == {1: [6, 5, 12, 1, 2, 30], 7: [6, 5, 12, 3, 30], 12: [11, 12, 3, 30]}.get(most, [56])


def test_the_others_let_go_of_gradients_and_take_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.ParameterList([torch.zeros(2, 3), torch.zeros(5), torch.zeros(4)])
    there = torch.arange(15.0)
    taken = 0

    def broadcast(message: torch.Tensor, *, src: int) -> None:
        nonlocal taken
        assert src == 0
        message.copy_(there[taken : taken + message.numel()].view_as(message))
        taken += message.numel()

    monkeypatch.setattr(dist, "reduce", lambda message, dst: None)
    monkeypatch.setattr(dist, "broadcast", broadcast)
    monkeypatch.setattr(distributed, "MESSAGE", 9)
    World(1, 2).sum_gradients(model)
    assert all(parameter.grad is None for parameter in model)
    World(1, 2).spread_weights(model)
    assert torch.cat([parameter.detach().flatten() for parameter in model]).equal(there)


def test_one_process_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("reduce", "broadcast"):
        monkeypatch.setattr(dist, name, lambda *_, **__: pytest.fail("to whom?"))
    model = nn.Linear(2, 2)
    World().sum_gradients(model)
    World().spread_weights(model)
    assert model.weight.grad is None
