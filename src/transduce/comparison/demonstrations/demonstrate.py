"""All demonstrations, one after another: about forty seconds of one core."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from transduce.comparison.demonstrations.attention import additive_against_dot, masking, saturation
from transduce.comparison.demonstrations.demonstration import Demonstration
from transduce.comparison.demonstrations.learning import depth, positions_beyond, scores_by_width
from transduce.comparison.demonstrations.memory import recurrent_attention
from transduce.comparison.demonstrations.positions import equivariance, scalar_against_sinusoids
from transduce.comparison.demonstrations.words import map_of_words, shipped, two_waters


def demonstrate(say: Callable[[str], None]) -> list[Demonstration]:
    """In the article's order. `say` hears what is being computed."""
    translator = shipped()  # on one thread, and so are the others from here on
    every: tuple[Callable[[], Demonstration], ...] = (
        partial(map_of_words, translator), recurrent_attention, equivariance, scalar_against_sinusoids,
        positions_beyond, partial(two_waters, translator), saturation, additive_against_dot, scores_by_width, depth,
        masking,
    )  # fmt: skip
    found = []
    for one in every:
        found.append(one())
        say(f"demonstrated: {found[-1].title}")
    return found
