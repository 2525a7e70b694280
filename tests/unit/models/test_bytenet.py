"""ByteNet: how the decoder unfolds over the encoder, how dilation goes on, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.contracts.variations import SOURCE, close, example, random_text, shaken, teacher_forced
from transduce.data.batch import Stream
from transduce.layers.tap import record
from transduce.models import ByteNetConfig
from transduce.models.bytenet import ByteNet, ByteNetMemory

WIDTH = 26


def build(**settings: Any) -> ByteNet:
    sizes: dict[str, Any] = {"encoder_layers": 3, "decoder_layers": 3, "d_model": WIDTH, **settings}
    return shaken(ByteNetConfig(**sizes).build(37, 37)).eval()  # type: ignore[return-value]


@pytest.mark.parametrize(("stretch", "columns"), [(1.0, [11, 5, 2]), (1.2, [14, 6, 3]), (2.5, [28, 13, 5])])
def test_a_source_has_columns_up_to_its_length_times_the_stretch_and_0_from_there(
    stretch: float, columns: list[int]
) -> None:
    model = build(stretch=stretch)
    given = example(model, lengths=(SOURCE, 5, 2))
    memory = model.encode(given.source.ids, given.source.lengths)
    assert memory.columns.shape == (3, columns[0], WIDTH)
    filled = (memory.columns != 0).any(-1)
    assert [int(row.sum()) for row in filled] == columns
    assert all(bool(row[:n].all()) for row, n in zip(filled, columns, strict=True))


def test_token_t_reads_column_t_and_those_before_it_only() -> None:
    model = build(encoder_layers=1)
    given = example(model, lengths=(SOURCE,), target=SOURCE)
    memory = model.encode(given.source.ids, given.source.lengths)
    before = model.hidden(given.previous, memory)
    for t in range(SOURCE):
        columns = memory.columns.clone()
        columns[:, t] += 1
        difference = (model.hidden(given.previous, ByteNetMemory(columns)) - before).abs().amax(-1)[0]
        assert (difference[:t] == 0).all() and difference[t] > 0


def test_beyond_its_columns_the_decoder_goes_on_with_the_target_alone() -> None:
    model = build(stretch=1.0)
    given = example(model, lengths=(5,), target=19)
    memory = model.encode(given.source.ids, given.source.lengths)
    assert memory.columns.shape[1] == 5
    heard: dict[str, torch.Tensor] = {}
    with record(lambda name, value: heard.setdefault(name, value)):
        model.hidden(given.previous, memory)
    close(heard["decoder.input"][:, 5:], heard["decoder.embedding"][:, 5:])
    close(heard["decoder.input"][:, :5], heard["decoder.embedding"][:, :5] + memory.columns)


def test_an_empty_batch_of_sources_has_no_column() -> None:
    model = build()
    source = Stream.pad([[], []])
    assert (model.encode(source.ids, source.lengths).columns == 0).all()
    assert teacher_forced(model, example(model, lengths=(0, 0))).isfinite().all()


def test_dilation_doubles_up_to_its_greatest_and_begins_again() -> None:
    config = ByteNetConfig(encoder_layers=12, decoder_layers=2, d_model=WIDTH)
    model: Any = config.build(37, 37)
    dilations = [block.convolution.dilation for block in model.encoder]
    assert dilations == [1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 1, 2]
    assert [config.model_copy(update={"max_dilation": 1}).dilation(i) for i in range(3)] == [1, 1, 1]


def test_the_order_of_words_is_known_without_positions() -> None:
    model = build()
    ids = torch.tensor([random_text(37, 5)])
    columns = [model.encode(x, torch.tensor([5])).columns for x in (ids, ids.flip(1))]
    assert (columns[0].sum(1) - columns[1].sum(1)).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_dilation": 12}, "expected a power of two"),
        ({"kernel": 2}, "expected an odd number"),
        ({"d_model": 7}, "multiple of 2"),
        ({"stretch": 0.9}, "greater than or equal to 1"),
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ByteNetConfig(**settings)
