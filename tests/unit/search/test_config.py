"""Settings: defaults of the paper, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from transduce.search import DecodingConfig, LengthPenalty


def test_defaults_are_the_papers() -> None:
    config = DecodingConfig()
    assert (config.beam, config.length_penalty, config.length_penalty_form) == (4, 0.6, "gnmt")
    assert (config.max_extra, config.early_stop, config.unknown) == (50, True, "avoid")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("beam", 0), ("nbest", 0), ("nbest", 5), ("max_extra", -1), ("min_length", -1), ("no_repeat_ngram", -1),
        ("temperature", 0.0), ("temperature", float("inf")), ("top_k", -1), ("top_p", 0.0), ("top_p", 1.1),
        ("seed", -1), ("length_penalty", float("nan")), ("length_penalty_form", "wu"), ("unknown", "keep"),
        ("bean", 4),
    ],
)  # fmt: skip
def test_refused(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=key):
        DecodingConfig(**{key: value})  # type: ignore[arg-type]


def test_more_samples_than_the_beam_is_wide() -> None:
    assert DecodingConfig(sample=True, nbest=7).nbest == 7


def test_length_penalty_by_hand() -> None:
    lengths = np.array([1, 7, 13])
    assert LengthPenalty(1.0, "gnmt")(lengths) == pytest.approx([1, 2, 3])
    assert LengthPenalty(2.0, "gnmt")(lengths) == pytest.approx([1, 4, 9])
    assert LengthPenalty(0.0, "gnmt")(lengths) == pytest.approx([1, 1, 1])
    assert LengthPenalty(-1.0, "power")(lengths) == pytest.approx([1, 1 / 7, 1 / 13])
    assert LengthPenalty(0.5, "power")(np.array([0, 4])) == pytest.approx([1, 2])


def test_bound_is_at_the_end_that_the_sign_of_alpha_favours() -> None:
    total, short, long = np.array([-6.0]), np.array([2]), np.array([3])
    assert LengthPenalty(1.0, "power").best(total, short, long) == pytest.approx([-2.0])
    assert LengthPenalty(-1.0, "power").best(total, short, long) == pytest.approx([-12.0])
    assert LengthPenalty(0.0, "power").best(total, short, long) == pytest.approx([-6.0])
