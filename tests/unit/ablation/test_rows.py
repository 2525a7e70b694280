"""What the rows come to at another scale than the paper's."""

from __future__ import annotations

from typing import Any

import pytest

from transduce.ablation.rows import TABLE_3, choose, in_words, scaled
from transduce.errors import ConfigError
from transduce.models import TransformerConfig

ROWS = {row.name: row for row in TABLE_3}
QUARTER = TransformerConfig(encoder_layers=3, decoder_layers=3, d_model=128, d_ff=512, heads=8)
"""Half of the paper's layers, a quarter of its widths."""


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("base", {}),
        ("A-h1", {"heads": 1, "d_k": 128, "d_v": 128}),
        ("A-h32", {"heads": 32, "d_k": 4, "d_v": 4}),
        ("B-dk16", {"d_k": 4}),
        ("C-N2", {"encoder_layers": 1, "decoder_layers": 1}),
        ("C-N8", {"encoder_layers": 4, "decoder_layers": 4}),
        ("C-d256", {"d_model": 64, "d_k": 8, "d_v": 8}),
        ("C-ff4096", {"d_ff": 1024}),
        ("D-drop0.2", {"dropout": 0.2}),
        ("D-ls0", {"label_smoothing": 0.0}),
        ("E-learned", {"positions": "learned"}),
        ("big", {"d_model": 256, "d_ff": 1024, "heads": 16, "dropout": 0.3, "d_k": 16, "d_v": 16}),
    ],
)
def test_ratios_are_kept(name: str, changes: dict[str, Any]) -> None:
    assert scaled(ROWS[name], QUARTER, 0.1) == changes


def test_half_a_head_is_a_whole_one_of_the_same_width_in_all() -> None:
    four = TransformerConfig(d_model=128, heads=4)
    assert scaled(ROWS["A-h1"], four, 0.1) == {"heads": 1, "d_k": 128, "d_v": 128}
    assert scaled(ROWS["A-h4"], four, 0.1) == {"heads": 2, "d_k": 64, "d_v": 64}
    narrow = TransformerConfig(d_model=6, heads=2)
    assert scaled(ROWS["A-h32"], narrow, 0.1) == {"heads": 8, "d_k": 1, "d_v": 1}


def test_rates_stay_below_a_half_unless_they_are_above_it() -> None:
    assert scaled(ROWS["big"], TransformerConfig(dropout=0.3), 0.1)["dropout"] == 0.5
    assert scaled(ROWS["D-drop0.2"], TransformerConfig(dropout=0.7), 0.1)["dropout"] == 0.7
    assert scaled(ROWS["D-ls0.2"], QUARTER, 0.05) == {"label_smoothing": 0.1}


def test_rows_are_chosen_by_their_group_and_the_base_is_always_there() -> None:
    assert [row.name for row in choose(["E", "B"])] == ["base", "B-dk16", "B-dk32", "E-learned"]
    assert choose([]) == list(TABLE_3)
    with pytest.raises(ConfigError, match=r"--rows F: expected some of base, A, B, C, D, E, big"):
        choose(["A", "F"])


def test_changes_in_the_papers_symbols() -> None:
    assert in_words(scaled(ROWS["C-N2"], QUARTER, 0.1)) == "N = 1"
    assert in_words(scaled(ROWS["E-learned"], QUARTER, 0.1)) == "learned positions"
    assert in_words(scaled(ROWS["A-h4"], QUARTER, 0.1)) == "h = 4, d_k = 32, d_v = 32"
