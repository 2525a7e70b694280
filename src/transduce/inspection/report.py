"""A recording as one HTML file that needs no network: tokens, thoughts, search, attention and the list of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from transduce.inspection.alignment import AttentionMap, attention_map
from transduce.inspection.heads import HeadSummary, summaries
from transduce.inspection.predictions import Guess, Prediction, predictions
from transduce.inspection.recording import Recording
from transduce.inspection.search_tree import FATES, SearchTree
from transduce.inspection.tokens import By, TokenTable
from transduce.inspection.tree_drawing import draw_tree

CAUTION = (
    "A map shows where the model read, not why it wrote what it wrote. Take a word out of the sentence and look what "
    "changes: that says more."
)


def page(recording: Recording, *, by: By = "pieces") -> str:
    """A whole document. `by` is what rows and columns of the maps stand for."""
    title = escape(recording.title)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<style>:root { color-scheme: light dark } body { margin: 1.5rem }</style>\n"
        f"</head>\n<body>\n{fragment(recording, by=by)}\n</body>\n</html>\n"
    )


def fragment(recording: Recording, *, by: By = "pieces") -> str:
    """The same without the document around it, as a notebook shows it."""
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    steps = predictions(recording, top=5)
    parts = [_head(recording, steps), _tokens(recording), _thoughts(steps)]
    if recording.tree is not None:
        parts.append(_search(recording.tree, recording.vocabulary))
    if recording.places:
        parts.append(_attention(recording, by))
    parts.append(_tensors(recording))
    return f'<div class="transduce">\n<style>\n{style}</style>\n' + "\n".join(parts) + "\n</div>"


def _head(recording: Recording, steps: Sequence[Prediction]) -> str:
    total = sum(step.log_probability for step in steps)
    texts = [(recording.source_language, recording.source), (recording.target_language, recording.translation)]
    title = " → ".join(
        f'<span lang="{escape(language)}" dir="auto">{escape(text)}</span>' for language, text in texts if text
    )
    return (
        f"<h1>{title}</h1>\n"
        f'<p class="quiet">{escape(recording.model)} model, {escape(recording.source_language)} → '
        f"{escape(recording.target_language)}. What is written has {len(steps)} tokens, marks included, and a "
        f"log-probability of {total:.4f} nats.</p>"
    )


def _tokens(recording: Recording) -> str:
    tables = [_token_table(name, table) for name, table in recording.streams.items() if name != "previous"]
    folded = ", ".join(f"{_piece(before)} to {_piece(after)}" for before, after in recording.folded)
    note = f"<p>Before encoding, NFKC folded {folded}.</p>\n" if folded else ""
    return f'<h2>Tokens</h2>\n{note}<div class="heads">{"".join(tables)}</div>'


def _token_table(name: str, table: TokenTable) -> str:
    rows = []
    for i, token in enumerate(table.tokens):
        place = f"{token.start}–{token.end}" if token.end > token.start else ""
        word = "" if token.word is None else str(token.word)
        covered = _piece(table.text[token.start : token.end])
        rows.append([str(i), _piece(token.piece), str(token.id), covered, place, word])
    return _table(["", f"{name}: piece", "id", "covers", "characters", "word"], rows, numbers={0, 2, 4, 5})


def _thoughts(steps: Sequence[Prediction]) -> str:
    rows = []
    for step in steps:
        chance = f"{np.exp(step.log_probability):.4f}"
        guesses = "&emsp;".join(map(_guess, step.best))
        rows.append([_piece(step.reads), _piece(step.writes), chance, str(step.rank), f"{step.entropy:.3f}", guesses])
    head = ["has read …", "writes", "P", "rank", "entropy (nats)", "likeliest pieces"]
    return f"<h2>What it thought of at each step</h2>\n{_table(head, rows, numbers={2, 3, 4})}"


def _guess(guess: Guess) -> str:
    bar = f'<span class="bar" style="width:{40 * guess.probability:.1f}px"></span>'
    return f"{bar}{_piece(guess.piece)} {guess.probability:.3f}"


def _search(tree: SearchTree, vocabulary: tuple[str, ...]) -> str:
    steps: dict[int, list[list[str]]] = {}
    for c in tree.candidates:
        before = "".join(vocabulary[p.token] for p in tree.path(c.parent))
        fate = FATES[c.fate] + (f": result {c.rank}" if c.rank is not None else "")
        steps.setdefault(c.step, []).append(
            [_piece(before), _piece(vocabulary[c.token]), f"{c.log_probability:.4f}", f"{c.total:.4f}",
             f"{c.penalty:.4f}", f"{c.score:.4f}", fate]
        )  # fmt: skip
    head = ["goes on from", "with", "log P", "sum", "÷ penalty", "= score", "what became of it"]
    details = [
        f"<details><summary>Step {step}: {len(rows)} candidates</summary>"
        f"{_table(head, rows, numbers={2, 3, 4, 5})}</details>"
        for step, rows in steps.items()
    ]
    return (
        f"<h2>Beam search</h2>\n<p>Beam {tree.beam}, length penalty α = {tree.length_penalty:g}. What lived on, with "
        f"the log-probability of each piece; the way to the result is bold. Every candidate is in the tables below.</p>"
        f'\n<div class="wide">{draw_tree(tree, vocabulary)}</div>\n' + "\n".join(details)
    )


def _attention(recording: Recording, by: By) -> str:
    heads: dict[str, list[HeadSummary]] = {}
    for summary in summaries(recording):
        heads.setdefault(summary.place, []).append(summary)
    parts = []
    for place, of_place in heads.items():
        shown = attention_map(recording, place, by=by)
        maps = "".join(_map(shown, summary) for summary in of_place)
        parts.append(f'<details open><summary><h3 style="display:inline">{place}</h3></summary>'
                     f'<div class="heads">{maps}</div></details>')  # fmt: skip
    return (
        f'<h2>Attention</h2>\n<p>{CAUTION}</p>\n<p class="quiet">Weights in %. Each row is a query, each column a '
        "place that it looks at; where the decoder looks at the source, “reads → writes” is the step. Confidence: mean "
        "of the largest weights. Offset: how far from the row's own place the largest weight most often is.</p>\n"
        + "\n".join(parts)
    )


def _map(shown: AttentionMap, summary: HeadSummary) -> str:
    head = "".join(f'<th scope="col">{_column(unit.label)}</th>' for unit in shown.columns)
    rows = []
    reads = [f"{read} → " for read in shown.reads] or [""] * len(shown.rows)
    for unit, read, values in zip(shown.rows, reads, shown.values[summary.head].tolist(), strict=True):
        rows.append(f'<tr><th scope="row">{escape(read + unit.label)}</th>{"".join(map(_cell, values))}</tr>')
    offset = f"offset {summary.offset:+d} in {summary.offset_share:.0%}"
    return (
        f'<figure class="map"><figcaption>head {summary.head}<br><span class="quiet">confidence '
        f"{summary.confidence:.2f}, entropy {summary.entropy:.2f}, {offset}</span></figcaption>"
        f'<table aria-label="{shown.place}, head {summary.head}"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></figure>\n"
    )


def _cell(value: float) -> str:
    if value == 0:
        return "<td>"
    dark = ' class="dark"' if value > 0.55 else ""
    return f'<td{dark} style="--v:{value:.3f}" title="{value:.6f}">{100 * value:.0f}'


def _column(label: str) -> str:
    return f"<span{' class=' + chr(34) + 'long' + chr(34) if len(label) > 2 else ''}>{escape(label)}</span>"


def _tensors(recording: Recording) -> str:
    rows = []
    for name, tensor in recording.tensors.items():
        finite = tensor[np.isfinite(tensor)]
        axes = " × ".join(
            f"{axis or '?'} {size}" for axis, size in zip(recording.axes[name], tensor.shape, strict=True)
        )
        numbers = [f"{f(finite):.4g}" if finite.size else "" for f in (np.min, np.mean, np.max)]
        rows.append([f"<code>{escape(name)}</code>", axes, *numbers])
    table = _table(["name", "axes", "least", "mean", "greatest"], rows, numbers={2, 3, 4})
    return (
        f"<h2>Every tensor</h2>\n<p>The numbers themselves are in a saved recording (<code>.npz</code>).</p>\n"
        f"<details><summary>{len(rows)} tensors</summary>{table}</details>"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: set[int]) -> str:
    """Cells are HTML already; those of the columns `numbers` are set to the right."""
    align = [' class="number"' if i in numbers else "" for i in range(len(head))]
    titles = "".join(f'<th scope="col"{a}>{escape(text)}</th>' for text, a in zip(head, align, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{a}>{cell}</td>" for cell, a in zip(row, align, strict=True)) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def _piece(text: str) -> str:
    return f'<span class="piece" dir="auto">{escape(text)}</span>'
