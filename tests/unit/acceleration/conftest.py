from __future__ import annotations

from collections.abc import Sequence

import pytest

from transduce.acceleration import side_by_side
from transduce.acceleration.side_by_side import Part


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """In how many parts native code shared each of its calls among threads."""
    shares: list[int] = []
    real = side_by_side._pool

    class Pool:
        def map(self, run: Part, first: Sequence[int], last: Sequence[int]) -> object:
            shares.append(len(first))
            return real().map(run, first, last)

    monkeypatch.setattr(side_by_side, "_pool", Pool)
    return shares
