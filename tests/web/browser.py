"""Which Chromium the tests drive; as a program it says so, or ends with 1 where there is none."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The system's or, without one, what `playwright install chromium` put in its place."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is not None:
        return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        own = started.chromium.executable_path
    return own if Path(own).exists() else None


if __name__ == "__main__":
    path = chromium()
    print(path or "no Chromium here")
    sys.exit(path is None)
