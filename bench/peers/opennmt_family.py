"""What OpenNMT-py and eole, which goes on from it, both need to be driven without their own reading of text."""

from __future__ import annotations

import sys
from types import ModuleType

from bench.peers.protocol import PAD, UNK


def without_text_tools() -> None:
    """Before either is imported: its text tools import these at once, and training on ready-made pieces uses none."""
    for name in ("spacy", "fasttext"):
        sys.modules.setdefault(name, ModuleType(name))


class Words(dict):  # type: ignore[type-arg]
    """A vocabulary of ids: as many as there are, of which they ask for these by name."""

    def __init__(self, size: int) -> None:
        super().__init__({"<blank>": PAD, "<unk>": UNK})
        self.size = size

    def __len__(self) -> int:
        return self.size
