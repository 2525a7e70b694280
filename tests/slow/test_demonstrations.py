"""All demonstrations as a report has them."""

from __future__ import annotations

import pytest

from transduce.comparison.demonstrations.demonstrate import demonstrate

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unchecked_shapes")]


def test_what_article_and_layers_agree_on() -> None:
    said: list[str] = []
    found = demonstrate(said.append)
    assert len(said) == len(found) == 11
    # Two are of what training happened to come to: how far positions carry, and where it put six words.
    open_ = {
        "Learned and sinusoidal positions, also beyond the training length",
        "The map of words, before and after training",
    }
    assert {d.title for d in found if not d.holds} <= open_
    # The sections of the article, in its order.
    assert [d.section for d in found] == sorted(d.section for d in found)
