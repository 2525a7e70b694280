"""Table 1 (P 4), measured."""

from __future__ import annotations

import pytest

from transduce.comparison.expected import TABLE_1, cost_differences
from transduce.comparison.measures.layers import KINDS, LayerCost, crossover, measure_layers, operations, path_length
from transduce.layers.attention import MultiHeadAttention

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


@pytest.fixture(scope="module")
def costs() -> list[LayerCost]:
    return measure_layers()


def test_every_kind_costs_what_table_1_says(costs: list[LayerCost]) -> None:
    assert [cost.name for cost in costs] == list(TABLE_1)
    assert [line for cost in costs for line in cost_differences(cost)] == []
    assert all(count > 0 for cost in costs for count in cost.operations)


def test_attention_and_recurrence_cost_the_same_where_n_is_d(costs: list[LayerCost]) -> None:
    assert crossover(costs) == 32


def test_operations_of_attention_by_hand() -> None:
    # Four projections of n × d by d × d, and two products of n × d × n; a multiply-add is two.
    n, d = 7, 26
    assert operations(MultiHeadAttention(d, 2), n, d) == 2 * (4 * n * d * d + 2 * n * n * d)


@pytest.mark.parametrize(
    ("kind", "layers"), list(zip(KINDS, [1, 1, 5, 3, 5], strict=True)), ids=lambda x: getattr(x, "name", x)
)
def test_layers_that_join_eleven_positions_by_hand(kind: object, layers: int) -> None:
    # Ten places at two a layer; dilated, 2 + 4 + 8 ≥ 10.
    assert path_length(kind, 11)[0] == layers  # type: ignore[arg-type]


def test_a_cost_that_is_another_is_told(costs: list[LayerCost]) -> None:
    wrong = LayerCost("recurrent", 2.0, 2.0, 2.0, 2.0, [1], [1], "constant", [1], [1.0], "linear")
    assert cost_differences(wrong) == [
        "recurrent: work grows with n^2.00, where n^1 was expected",
        "recurrent: sequential operations: linear was expected, and constant in n was found",
    ]
