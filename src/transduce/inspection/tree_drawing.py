"""The beam search as an SVG drawing: what lived on and what ended, from left to right."""

from __future__ import annotations

from html import escape
from unicodedata import east_asian_width

from transduce.inspection.search_tree import Candidate, SearchTree

_STEP, _ROW, _LEFT, _TOP = 130, 32, 70, 24
_LONGEST = 12
"""Characters of a piece that are shown."""


def draw_tree(tree: SearchTree, vocabulary: tuple[str, ...]) -> str:
    """Each hypothesis of the beam with the probability of its last piece; the way to the best result stands out."""
    kept = [c for c in tree.candidates if c.fate in ("lives", "finished") or c.rank is not None]
    best = {c.number for result in tree.results()[:1] for c in tree.path(result.number)}
    heights = _heights(kept, best)
    rows = max(heights.values(), default=0.0) + 1
    last = max((c.step for c in kept), default=0)
    # The best path is drawn last, on top of the others.
    labels = {0: "<s>"} | {c.number: _shown(vocabulary[c.token]) for c in kept}
    edges = [_edge(c, heights, c.number in best, labels) for c in sorted(kept, key=lambda c: c.number in best)]
    nodes = [_node(c, heights, c.number in best, labels) for c in kept]
    width, height = _LEFT + last * _STEP + 110, round(_TOP + rows * _ROW)
    start = f'<text x="{_x(0)}" y="{_y(heights[0]) + 4:.0f}">&lt;s&gt;</text>'
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Tree of the beam search">{start}{"".join(edges)}{"".join(nodes)}</svg>'
    )


def _heights(kept: list[Candidate], best: set[int]) -> dict[int, float]:
    """Row of each node: leaves below one another, what goes on level with the first of its children."""
    children: dict[int, list[int]] = {}
    # The best path comes first and so runs straight along the top.
    for c in sorted(kept, key=lambda c: (c.number not in best, c.number)):
        children.setdefault(c.parent, []).append(c.number)
    heights: dict[int, float] = {}
    free = 0
    waiting = [0]
    while waiting:
        node = waiting.pop()
        below = children.get(node, [])
        heights[node] = free
        if below:
            waiting += below[::-1]
        else:
            free += 1
    return heights


def _edge(c: Candidate, heights: dict[int, float], best: bool, labels: dict[int, str]) -> str:
    """From the end of the parent's label to the beginning of the candidate's."""
    y, top = _y(heights[c.number]), _y(heights[c.parent])
    begin, end = _x(c.step - 1) + _width(labels[c.parent]) + 4, _x(c.step) - 4
    bend = max(begin, end - 24)
    return (
        f"<path{_class('best' if best else '')} "
        f'd="M{begin} {top:.0f}H{bend}C{end - 8} {top:.0f} {end - 16} {y:.0f} {end} {y:.0f}"/>'
    )


def _node(c: Candidate, heights: dict[int, float], best: bool, labels: dict[int, str]) -> str:
    x, y = _x(c.step), _y(heights[c.number])
    below = f"{c.log_probability:.2f}" + (f" · score {c.score:.3f}" if c.fate == "finished" else "")
    return (
        f'<text x="{x}" y="{y + 4:.0f}"{_class("best" if best else "")}>{escape(labels[c.number])}</text>'
        f'<text x="{x}" y="{y + 15:.0f}" class="small">{below}</text>'
    )


def _shown(piece: str) -> str:
    text = piece.strip() or "␣"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _width(label: str) -> int:
    """About as many pixels as the browser will need."""
    return sum(13 if east_asian_width(c) in "WF" else 8 for c in label)


def _x(step: int) -> int:
    return 4 if step == 0 else _LEFT + (step - 1) * _STEP


def _y(row: float) -> float:
    return _TOP - 12 + row * _ROW


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
