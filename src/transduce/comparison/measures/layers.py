"""What a layer of each kind costs (paper Table 1), measured on the layers that the models are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transduce.comparison.growth import Growth, dependent_steps, exponent, growth
from transduce.layers.attention import MultiHeadAttention, attention_scores, attention_weights
from transduce.layers.convolution import Convolution
from transduce.layers.recurrent import Recurrent
from transduce.layers.restricted_attention import RestrictedAttention, restricted_attention
from transduce.layers.tap import record
from transduce.training.flops import OperationCounter

WIDTH = 32
"""d where n varies, and n where d varies."""
SIZES = (16, 32, 64, 128)
PATH_SIZES = (8, 16, 32, 64)
PATH_WIDTH = 8
REACH, KERNEL = 2, 5
"""r = 2·2 + 1 neighbours, as many as a kernel sees."""

Compute = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of layer."""

    name: str
    build: Callable[[int, int], nn.Module]
    """A layer of a width; the number, from 0, is that of the layer in its stack."""
    core: Compute | None = None
    """The part whose work the paper's table counts; None for the whole layer."""


@dataclass(frozen=True, slots=True)
class LayerCost:
    """What was measured of a kind of layer."""

    name: str
    work_n: float
    """Exponent of n in the floating-point operations of what the paper's table counts."""
    work_d: float
    """Exponent of d."""
    whole_n: float
    """The same of the whole layer, projections included."""
    whole_d: float
    operations: list[int]
    """Of what the table counts, at `SIZES` and d = `WIDTH`."""
    steps: list[int]
    """Dependent steps of one layer at `SIZES`."""
    steps_growth: Growth
    layers: list[int]
    """Layers after which the first of n positions has reached the last, at `PATH_SIZES`."""
    path: list[float]
    """Dependent steps from the one to the other, in those of a layer for a single position."""
    path_growth: Growth


class _States(nn.Module):
    """A recurrent layer's h_t alone."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.layer = Recurrent("rnn", d, d)

    def forward(self, x: Tensor) -> Tensor:
        h: Tensor = self.layer(x)[0]
        return h


def _self_attention(x: Tensor) -> Tensor:
    q = x[:, None]
    return attention_weights(attention_scores(q, q)) @ q


def _restricted(x: Tensor) -> Tensor:
    q = x[:, None]
    return restricted_attention(q, q, q, REACH)


KINDS: tuple[Kind, ...] = (
    Kind("self-attention", lambda d, _: MultiHeadAttention(d, 1), _self_attention),
    Kind("recurrent", lambda d, _: _States(d)),
    Kind("convolution", lambda d, _: Convolution(d, d, KERNEL, causal=False, gain=1.0)),
    Kind("convolution, dilated", lambda d, i: Convolution(d, d, KERNEL, dilation=2**i, causal=False, gain=1.0)),
    Kind("self-attention, restricted", lambda d, _: RestrictedAttention(d, 1, reach=REACH), _restricted),
)


def measure_layers() -> list[LayerCost]:
    """Every kind, with weights of a seed of its own; torch's random state is as before afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return [_measure(kind) for kind in KINDS]


def crossover(costs: Sequence[LayerCost]) -> int | None:
    """The first of `SIZES` at which self-attention takes as many operations as recurrence, at d = `WIDTH`."""
    found = {cost.name: cost.operations for cost in costs}
    pairs = zip(SIZES, found["self-attention"], found["recurrent"], strict=True)
    return next((n for n, attention, recurrence in pairs if attention >= recurrence), None)


def _measure(kind: Kind) -> LayerCost:
    core = kind.core
    grid = [[(n, WIDTH) for n in SIZES], [(WIDTH, d) for d in SIZES]]
    whole = [[operations(kind.build(d, 0), n, d) for n, d in row] for row in grid]
    work = whole if core is None else [[operations(core, n, d) for n, d in row] for row in grid]
    steps = [_steps(kind.build(WIDTH, 0), n) for n in SIZES]
    layers, path = zip(*(path_length(kind, n) for n in PATH_SIZES), strict=True)
    return LayerCost(
        name=kind.name,
        work_n=exponent(SIZES, work[0]),
        work_d=exponent(SIZES, work[1]),
        whole_n=exponent(SIZES, whole[0]),
        whole_d=exponent(SIZES, whole[1]),
        operations=work[0],
        steps=steps,
        steps_growth=growth(SIZES, steps),
        layers=list(layers),
        path=list(path),
        path_growth=growth(PATH_SIZES, path),
    )


def operations(layer: Compute, n: int, d: int) -> int:
    """Floating-point operations (a multiply-add is two) of the plain equations, forward."""
    # The counter does not see inside fused cells and attention: under a recorder neither is used.
    with torch.no_grad(), record(lambda _, value: value), OperationCounter() as counter:
        layer(torch.randn(1, n, d))
    return counter.operations


def path_length(kind: Kind, n: int) -> tuple[int, float]:
    """Layers until the last of n positions depends on the first, and the dependent steps between the two."""
    with record(lambda _, value: value):
        alone = dependent_steps(kind.build(PATH_WIDTH, 0)(_input(1, PATH_WIDTH)))
        # In double precision, so that a small gradient is no 0.
        x = first = _input(n, PATH_WIDTH).double().detach().requires_grad_()
        for number in range(n):
            x = kind.build(PATH_WIDTH, number).double()(x)
            (reached,) = torch.autograd.grad(x[:, -1].sum(), first, retain_graph=True)
            if bool(reached[:, 0].any()):
                return number + 1, dependent_steps(x) / alone
    raise AssertionError(f"{kind.name}: {n} layers do not join {n} positions")


def _steps(layer: nn.Module, n: int) -> int:
    with record(lambda _, value: value):
        return dependent_steps(layer(_input(n, WIDTH)))


def _input(n: int, d: int) -> Tensor:
    return torch.randn(1, n, d, requires_grad=True)
