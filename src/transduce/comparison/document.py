"""A report as text, tables and pictures, written as Markdown, as one HTML file, or to a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable

from transduce.run_folder import write_text


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text. `title` stands above it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    numbers: bool = True
    """Whether all columns but the first are set to the right."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in SVG, for HTML; `caption` says what it shows."""

    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Points:
    """Sentences, each by itself."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Detail:
    """Tables that a reader opens; a terminal leaves them out."""

    title: str
    tables: Sequence[Table]


Part = str | Table | Picture | Points | Detail


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it."""

    title: str
    parts: Sequence[Part]


def write(title: str, sections: Sequence[Section], figures: Mapping[str, Any], folder: Path) -> None:
    """Write report.html, report.md, and figures.json with every figure behind them."""
    write_text(folder / "report.html", to_html(title, sections))
    write_text(folder / "report.md", to_markdown(title, sections))
    write_text(folder / "figures.json", json.dumps({"title": title, **figures}, ensure_ascii=False, indent=1) + "\n")


def to_markdown(title: str, sections: Sequence[Section]) -> str:
    """Pictures are left out; the tables have their figures."""
    lines = [f"# {title}", ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        for part in section.parts:
            lines += _markdown(part)
    return "\n".join(lines)


def _markdown(part: Part) -> list[str]:
    if isinstance(part, str):
        return [_flat(part), ""]
    if isinstance(part, Points):
        return [*(f"- {_flat(line)}" for line in part.lines), ""]
    if isinstance(part, Detail):
        return [f"### {_flat(part.title)}", "", *(line for table in part.tables for line in _markdown(table))]
    if isinstance(part, Picture):
        return []
    rule = ["---", *(("---:" if part.numbers else "---") for _ in part.head[1:])]
    rows = (" | ".join(map(_flat, row)) for row in (part.head, rule, *part.rows))
    return [*([f"**{_flat(part.title)}**", ""] if part.title else []), *(f"| {row} |" for row in rows), ""]


def _flat(text: str) -> str:
    """Text that Markdown shows as it is."""
    for mark in "\\|*_<>`[]#":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def to_html(title: str, sections: Sequence[Section]) -> str:
    """A whole document that needs no network."""
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    body = "\n".join(
        f"<section>\n<h2>{escape(section.title)}</h2>\n" + "\n".join(map(_html, section.parts)) + "\n</section>"
        for section in sections
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _html(part: Part) -> str:
    if isinstance(part, str):
        return f"<p>{escape(part)}</p>"
    if isinstance(part, Points):
        return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in part.lines)}</ul>"
    if isinstance(part, Picture):
        return f"<figure>{part.svg}<figcaption>{escape(part.caption)}</figcaption></figure>"
    if isinstance(part, Detail):
        inside = "".join(map(_html, part.tables))
        return f"<details><summary>{escape(part.title)}</summary>{inside}</details>"
    caption = f"<caption>{escape(part.title)}</caption>" if part.title else ""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in part.head)
    rows = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(map(_html_cell, row[1:]))}</tr>' for row in part.rows
    )
    kind = ' class="numbers"' if part.numbers else ""
    return f'<div class="wide"><table{kind}>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _html_cell(cell: str) -> str:
    # A cell that begins so differs from what was expected, in words for those who see no colour.
    differs = ' class="differs"' if cell.startswith("≠") else ""
    return f"<td{differs}>{escape(cell)}</td>"


def to_terminal(title: str, sections: Sequence[Section], console: Console) -> None:
    """Without pictures and details."""
    console.print(f"\n{title}", style="bold", markup=False)
    for section in sections:
        console.print(f"\n{section.title}", style="bold", markup=False)
        for part in section.parts:
            if isinstance(part, Table):
                console.print(_rich(part))
            elif isinstance(part, Points):
                for line in part.lines:
                    console.print(f"- {line}", markup=False, highlight=False)
            elif isinstance(part, str):
                console.print(part, markup=False, highlight=False)


def _rich(part: Table) -> RichTable:
    table = RichTable(title=part.title or None, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for i, name in enumerate(part.head):
        table.add_column(name, justify="right" if part.numbers and i else "left", overflow="fold")
    for row in part.rows:
        # Square brackets would be read as markup.
        table.add_row(*(cell.replace("[", "\\[") for cell in row))
    return table
