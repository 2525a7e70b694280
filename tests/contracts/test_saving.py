"""Weights go to disk and come back; what does not fit is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.contracts.variations import Variation, example, teacher_forced
from transduce.errors import RunError
from transduce.models.contract import EncoderDecoder
from transduce.run_folder import load_weights, write_snapshot

Weights = dict[str, Tensor]


def weights(model: nn.Module) -> Weights:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def sharing(model: nn.Module) -> set[tuple[str, ...]]:
    """Names that stand for one parameter."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return {tuple(group) for group in names.values()}


def test_saved_and_loaded_model_gives_equal_outputs(
    model: EncoderDecoder, variation: Variation, tmp_path: Path
) -> None:
    snapshot = write_snapshot(tmp_path / "step-7", {"weights": weights(model)}, {})
    other = variation.build()
    given = example(model)
    expected = teacher_forced(model, given)
    assert not torch.equal(teacher_forced(other, given), expected)
    load_weights(other, snapshot)
    assert torch.equal(teacher_forced(other, given), expected)
    assert sharing(other) == sharing(model)


def cut(weights: Weights, name: str) -> None:
    weights[name] = weights[name][1:].clone()


def drop(weights: Weights, name: str) -> None:
    del weights[name]


def rename(weights: Weights, name: str) -> None:
    weights[f"{name}.2"] = weights[name].clone()


def poison(value: float) -> Callable[[Weights, str], None]:
    def apply(weights: Weights, name: str) -> None:
        weights[name].flatten()[-1] = value

    return apply


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (cut, "{name} is {short}, the experiment asks for {whole}"),
        (drop, "{name} is missing"),
        (rename, "{name}.2 is not a weight of this model"),
        (poison(torch.nan), "{name} holds values that are not finite"),
        (poison(torch.inf), "{name} holds values that are not finite"),
    ],
    ids=["shape", "missing", "extra", "nan", "inf"],
)
def test_weights_that_do_not_fit_are_named_and_nothing_is_loaded(
    model: EncoderDecoder,
    variation: Variation,
    tmp_path: Path,
    spoil: Callable[[Weights, str], None],
    complaint: str,
) -> None:
    spoiled = weights(model)
    name = list(spoiled)[-1]
    whole = list(spoiled[name].shape)
    spoil(spoiled, name)
    other = variation.build()
    before = weights(other)
    expected = complaint.format(name=name, whole=whole, short=[whole[0] - 1, *whole[1:]])
    with pytest.raises(RunError) as error:
        load_weights(other, write_snapshot(tmp_path / "best", {"weights": spoiled}, {}))
    assert expected in str(error.value) and str(tmp_path / "best") in str(error.value)
    assert all(torch.equal(a, b) for a, b in zip(weights(other).values(), before.values(), strict=True))
