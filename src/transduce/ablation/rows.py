"""The rows of the paper's Table 3, as published, and what each comes to at another scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transduce.errors import ConfigError
from transduce.models import TransformerConfig

PAPER_BASE: dict[str, Any] = {
    "encoder_layers": 6, "decoder_layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "d_k": 64, "d_v": 64,
    "dropout": 0.1, "label_smoothing": 0.1, "positions": "sinusoidal",
}  # fmt: skip
"""What the rows change, in the paper's base model; label smoothing is a setting of training."""

RATES = ("dropout", "label_smoothing")
MOST = 0.5
"""What a scaled rate is cut to, unless the base's own is higher."""

SYMBOLS = {"encoder_layers": "N", "heads": "h", "dropout": "P_drop", "label_smoothing": "ε_ls"}
"""As the paper writes settings, where that is not their name."""


@dataclass(frozen=True, slots=True)
class Published:
    """Newstest2013, English to German, as the paper has it: beam search, no averaging of checkpoints."""

    perplexity: float
    """Per word piece."""
    bleu: float
    """Tokenised."""
    millions: float | None = None
    """Of parameters; None where the paper repeats no number."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    name: str
    """Names the folders of its runs."""
    group: str
    """base, A to E, or big."""
    changes: Mapping[str, Any]
    """What is other than in `PAPER_BASE`, at the paper's scale."""
    published: Published


def _layers(n: int) -> dict[str, int]:
    return {"encoder_layers": n, "decoder_layers": n}


def _heads(h: int) -> dict[str, int]:
    return {"heads": h, "d_k": 512 // h, "d_v": 512 // h}


TABLE_3: tuple[Row, ...] = (
    Row("base", "base", {}, Published(4.92, 25.8, 65)),
    Row("A-h1", "A", _heads(1), Published(5.29, 24.9)),
    Row("A-h4", "A", _heads(4), Published(5.00, 25.5)),
    Row("A-h16", "A", _heads(16), Published(4.91, 25.8)),
    Row("A-h32", "A", _heads(32), Published(5.01, 25.4)),
    Row("B-dk16", "B", {"d_k": 16}, Published(5.16, 25.1, 58)),
    Row("B-dk32", "B", {"d_k": 32}, Published(5.01, 25.4, 60)),
    Row("C-N2", "C", _layers(2), Published(6.11, 23.7, 36)),
    Row("C-N4", "C", _layers(4), Published(5.19, 25.3, 50)),
    Row("C-N8", "C", _layers(8), Published(4.88, 25.5, 80)),
    Row("C-d256", "C", {"d_model": 256, "d_k": 32, "d_v": 32}, Published(5.75, 24.5, 28)),
    Row("C-d1024", "C", {"d_model": 1024, "d_k": 128, "d_v": 128}, Published(4.66, 26.0, 168)),
    Row("C-ff1024", "C", {"d_ff": 1024}, Published(5.12, 25.4, 53)),
    Row("C-ff4096", "C", {"d_ff": 4096}, Published(4.75, 26.2, 90)),
    Row("D-drop0", "D", {"dropout": 0.0}, Published(5.77, 24.6)),
    Row("D-drop0.2", "D", {"dropout": 0.2}, Published(4.95, 25.5)),
    Row("D-ls0", "D", {"label_smoothing": 0.0}, Published(4.67, 25.3)),
    Row("D-ls0.2", "D", {"label_smoothing": 0.2}, Published(5.47, 25.7)),
    Row("E-learned", "E", {"positions": "learned"}, Published(4.92, 25.7)),
    Row("big", "big", {"d_model": 1024, "d_ff": 4096, "heads": 16, "dropout": 0.3}, Published(4.33, 26.4, 213)),
)
"""P table 3."""


def choose(groups: Sequence[str]) -> list[Row]:
    """The rows of these groups in the table's order, the base among them; all for none. Raises ConfigError."""
    known = list(dict.fromkeys(row.group for row in TABLE_3))
    for group in groups:
        if group not in known:
            raise ConfigError(f"--rows {group}: expected some of {', '.join(known)}")
    return [row for row in TABLE_3 if not groups or row.group in ("base", *groups)]


def scaled(row: Row, model: TransformerConfig, label_smoothing: float) -> dict[str, Any]:
    """What the row changes of a base: each number keeps the ratio that it has to the paper's base.

    Whole numbers are rounded, to 1 at least. Where heads and their widths change together, h · d_k and h · d_v stay as
    they are; so they do, to a rounding, where half a head had to be a whole one.
    """
    base = {**model.model_dump(), "label_smoothing": label_smoothing}
    base["d_k"], base["d_v"] = (base[key] or model.d_model // model.heads for key in ("d_k", "d_v"))
    changed = {key: _keeping_ratio(key, value, base[key]) for key, value in row.changes.items()}
    if "d_model" in changed or "heads" in changed:
        # Unless given they would follow from d_model and heads, which may not divide one another here.
        changed = changed | {key: base[key] for key in ("d_k", "d_v") if key not in changed}
    if "heads" in row.changes and "d_k" in row.changes:
        changed |= {key: max(1, round(base["heads"] * base[key] / changed["heads"])) for key in ("d_k", "d_v")}
    return changed


def _keeping_ratio(key: str, value: Any, base: Any) -> Any:
    paper = PAPER_BASE[key]
    if isinstance(value, str):
        return value
    if key in RATES:
        return round(min(base * value / paper, max(MOST, base)), 4)
    return max(1, round(base * value / paper))


def in_words(changes: Mapping[str, Any]) -> str:
    """Settings as the paper writes them: N = 2."""
    shown = {SYMBOLS.get(key, key): value for key, value in changes.items() if key != "decoder_layers"}
    return ", ".join(
        f"{value} {key}" if isinstance(value, str) else f"{key} = {value:g}" for key, value in shown.items()
    )
