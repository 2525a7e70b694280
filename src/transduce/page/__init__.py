"""The page that looks inside and translates: plain files that a server hands out, or one file that needs none."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
"""Where the files lie, as a server hands them out: `index.html`, `style.css`, `js/…`."""

PAYLOAD = "recordings-come-here"
"""Stands in `document()` where the recordings belong; the page itself fills it in."""

_ONLY_ON_A_SERVER = ("js/translate", "translate.")
_STYLE = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
_IMPORT = re.compile(r'((?:\bfrom|\bimport)\s*\(?\s*)"(\.{1,2}/[^"]+)"')


def document(
    payloads: Sequence[dict[str, Any]] | None = None,
    title: str = "transduce",
    *,
    values: Mapping[str, str | int] | None = None,
) -> str:
    """The page as one HTML file that shows recordings without server or network: modules, styles and numbers in it.

    `payloads` are what `transduce.inspection.payload` makes, the first being the one that is shown, others stand beside
    it. Without them `PAYLOAD` stands in their place. `values` are what the page begins with, as its address has them.
    """
    icon = base64.b64encode((FOLDER / "favicon.svg").read_bytes()).decode()
    carried = PAYLOAD if payloads is None else _safe({"recordings": list(payloads), "values": dict(values or {})})
    scripts = (
        f'<script type="application/json" id="payload">{carried}</script>\n'
        f'<script type="importmap">{_safe({"imports": _modules()})}</script>\n'
        '<script type="module">import "transduce/js/app.js";</script>'
    )
    text = _STYLE.sub(_style, (FOLDER / "index.html").read_text(encoding="utf-8"))
    text = text.replace("favicon.svg", f"data:image/svg+xml;base64,{icon}")
    text = text.replace("<title>transduce</title>", f"<title>{escape(title)}</title>")
    return text.replace('<script type="module" src="js/app.js"></script>', scripts, 1)


def _style(link: re.Match[str]) -> str:
    if link[1].startswith(_ONLY_ON_A_SERVER):
        return ""
    return f"<style>\n{(FOLDER / link[1]).read_text(encoding='utf-8')}</style>"


def _modules() -> dict[str, str]:
    """Every module by a name that an import map can resolve: a file opened from disk may not import its neighbours."""
    found = {}
    for path in sorted(FOLDER.glob("js/**/*.js")):
        name = path.relative_to(FOLDER).as_posix()
        if name.startswith(_ONLY_ON_A_SERVER):
            continue

        def named(match: re.Match[str], folder: Path = path.parent) -> str:
            target = (folder / match[2]).resolve().relative_to(FOLDER.resolve())
            return f'{match[1]}"transduce/{target.as_posix()}"'

        script = _IMPORT.sub(named, path.read_text(encoding="utf-8"))
        code = base64.b64encode(script.encode()).decode()
        found[f"transduce/{name}"] = f"data:text/javascript;charset=utf-8;base64,{code}"
    return found


def _safe(value: object) -> str:
    """JSON that no text in it can end the script element with."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
