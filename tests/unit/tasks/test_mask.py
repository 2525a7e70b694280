"""Masked-word training: which tokens are chosen, what is read in their place, and what is learned."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from transduce.errors import InputError
from transduce.models import BertConfig
from transduce.models.bert import Bert
from transduce.search import DecodingConfig
from transduce.search.ensemble import LabellerEnsemble
from transduce.tasks import Mask
from transduce.tasks.mask import ANY
from transduce.text.specials import BOS, EOS, MASK, PAD, RESERVED

VOCABULARY = RESERVED + 23
LENGTHS = [1, 3, 10, 20, 0]


def build(**changes: Any) -> Bert:
    sizes = {"layers": 1, "d_model": 14, "d_ff": 17, "heads": 2, "max_positions": 61}
    return BertConfig(**{**sizes, **changes}).build(VOCABULARY, VOCABULARY).eval()


def texts(lengths: list[int]) -> list[list[int]]:
    return [torch.randint(RESERVED, VOCABULARY, (n,)).tolist() for n in lengths]


class Lengths:
    """As much of a store as `tokens` asks for."""

    def lengths(self, name: str) -> np.ndarray:
        return {"target": np.array(LENGTHS, np.int32)}[name]


def test_fifteen_in_a_hundred_tokens_are_chosen_and_at_least_one() -> None:
    given = texts(LENGTHS)
    batch = Mask().batch(given, given, range(5))
    assert batch["expected"].lengths.tolist() == [1, 1, 2, 3, 0]
    assert Mask().tokens(Lengths(), np.arange(5)) == (34 + 2 * 5, 7)  # type: ignore[arg-type]
    assert Mask().tokens(Lengths(), np.array([2, 3])) == (30 + 2 * 2, 5)  # type: ignore[arg-type]


def test_the_rest_of_a_text_is_read_as_it_is_between_its_marks() -> None:
    given = texts(LENGTHS)
    batch = Mask().batch(given, given, range(5))
    for row, text in enumerate(given):
        read = batch["source"].ids[row, : len(text) + 2].tolist()
        n = int(batch["expected"].lengths[row])
        places, expected = (batch[name].ids[row, :n].tolist() for name in ("places", "expected"))
        assert places == sorted(set(places)) and all(1 <= place <= len(text) for place in places)
        assert [text[place - 1] for place in places] == expected
        assert [id for i, id in enumerate(read) if i not in places] == [
            id for i, id in enumerate([BOS, *text, EOS]) if i not in places
        ]
        for place, id in zip(places, expected, strict=True):
            assert read[place] in (MASK, id) or read[place] >= ANY


def test_what_is_chosen_follows_from_draw_and_example_whatever_shares_the_batch() -> None:
    given = texts([11, 7, 13])
    together = Mask().batch(given, given, [5, 7, 11], draw=3)
    for i, example in enumerate([5, 7, 11]):
        alone = Mask().batch([given[i]], [given[i]], [example], draw=3)
        for name in ("source", "places", "expected"):
            n = int(alone[name].lengths)
            assert together[name].ids[i, :n].tolist() == alone[name].ids[0].tolist()
    again = [Mask().batch(given, given, [5, 7, 11], draw)["places"].ids.tolist() for draw in range(3, 9)]
    assert again[0] == together["places"].ids.tolist()
    assert all(other != again[0] for other in again[1:])
    assert Mask().batch([given[0]] * 2, [given[0]] * 2, [1, 2])["places"].ids[0].tolist() != (
        Mask().batch([given[0]] * 2, [given[0]] * 2, [1, 2])["places"].ids[1].tolist()
    )


class Ear:
    """As much of a model as `Mask.hidden` asks for; it keeps what it is given to read."""

    vocabulary = VOCABULARY

    def hidden(self, ids: Tensor, lengths: Tensor) -> Tensor:
        self.read = ids
        return torch.zeros(*ids.shape, 1)


def test_of_ten_chosen_tokens_eight_are_blanks_one_is_any_other_and_one_is_itself() -> None:
    rows, letter = 500, RESERVED + 5
    given = [[letter] * 40] * rows
    batch = Mask().batch(given, given, range(rows), draw=1)
    ear = Ear()
    Mask().hidden(ear, batch)  # type: ignore[arg-type]
    read = ear.read.gather(1, batch["places"].ids).flatten().tolist()
    counts = Counter(read)
    assert len(read) == 6 * rows
    assert counts[MASK] / len(read) == pytest.approx(0.8, abs=0.02)
    # One of the 23 random tokens is the letter itself.
    assert counts[letter] / len(read) == pytest.approx(0.1 + 0.1 / 23, abs=0.02)
    others = {id: n for id, n in counts.items() if id not in (MASK, letter)}
    assert set(others) == set(range(RESERVED, VOCABULARY)) - {letter}
    assert sum(others.values()) / len(read) == pytest.approx(0.1 * 22 / 23, abs=0.02)
    assert max(others.values()) < 3 * sum(others.values()) / 22
    # Every place is as likely as any other.
    where = Counter(batch["places"].ids.flatten().tolist())
    assert set(where) == set(range(1, 41)) and min(where.values()) > 0.5 * max(where.values())


def test_the_loss_is_of_the_chosen_tokens_only() -> None:
    model = build()
    given = texts([20, 5])
    batch = Mask().batch(given, given, [0, 1])
    ear = Ear()
    Mask().hidden(ear, batch)  # type: ignore[arg-type]
    log_p = model(ear.read, batch["source"].lengths).log_softmax(-1).detach()
    by_hand = [
        [float(log_p[row, place, id]) for place, id in zip(places, ids, strict=True) if id != PAD]
        for row, (places, ids) in enumerate(
            zip(batch["places"].ids.tolist(), batch["expected"].ids.tolist(), strict=True)
        )
    ]
    assert [len(row) for row in by_hand] == [3, 1]
    assert float(Mask().loss(model, batch, 0.0).detach()) == pytest.approx(-sum(map(sum, by_hand)), rel=1e-5)
    for row, expected in zip(Mask().token_log_probabilities(model, batch), by_hand, strict=True):
        assert row == pytest.approx(expected, rel=1e-4)


def test_candidates_are_the_likeliest_tokens_of_text_at_each_blank() -> None:
    model = build()
    given = [[21, MASK, 22, 23, MASK], [], [24, 25], [MASK]]
    found = Mask().candidates(model, given, 3, DecodingConfig())
    assert [[c.place for c in row] for row in found] == [[1, 4], [], [], [0]]
    for text, row in zip(given, found, strict=True):
        ids = torch.tensor([[BOS, *text, EOS]])
        log_p = model(ids, torch.tensor([ids.shape[1]]))[0].log_softmax(-1)
        for blank in row:
            best = log_p[blank.place + 1, RESERVED:].topk(3)
            assert blank.ids == tuple((best.indices + RESERVED).tolist())
            assert blank.log_probabilities == pytest.approx(best.values.tolist(), abs=1e-5)
    every = Mask().candidates(model, [[MASK]], 1000, DecodingConfig())[0][0]
    assert sorted(every.ids) == list(range(RESERVED, VOCABULARY))


def test_blanks_are_filled_with_the_likeliest_whatever_shares_the_batch() -> None:
    model, config = build(), DecodingConfig()
    given = [[21, MASK, 22, 23, MASK], [24, 25], [MASK], [21] * 30 + [MASK], []]
    together = Mask().decode(model, given, config)
    for text, (found,) in zip(given, together, strict=True):
        blanks = Mask().candidates(model, [text], 1, config)[0]
        expected = list(text)
        for blank in blanks:
            expected[blank.place] = blank.ids[0]
        assert list(found.ids) == expected and found.finished
        assert found.score == pytest.approx(sum(b.log_probabilities[0] for b in blanks), abs=1e-5)
    twice = Mask().decode(LabellerEnsemble([model, model]), given, config)
    assert [h.ids for (h,) in twice] == [h.ids for (h,) in together]
    with pytest.raises(InputError, match="prefixes"):
        Mask().decode(model, given, config, prefixes=[[]] * 5)


LETTERS, LONGEST = 11, 9


def counting(count: int) -> list[list[int]]:
    """Rows that count in steps of 1, 2 or 3, round and round: any token follows from two others."""
    starts, steps = torch.randint(LETTERS, (count,)).tolist(), torch.randint(1, 4, (count,)).tolist()
    return [
        [RESERVED + (start + i * step) % LETTERS for i in range(LONGEST)]
        for start, step in zip(starts, steps, strict=True)
    ]


@pytest.mark.usefixtures("unchecked_shapes")
def test_it_learns_what_stands_at_a_blank() -> None:
    task, updates = Mask(), 400
    model = build(layers=2, d_model=32, d_ff=64, heads=4, dropout=0.0, attention_dropout=0.0).train()
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * min((update + 1) / 50, (updates - update) / (updates - 50))
        rows = counting(64)
        batch = task.batch(rows, rows, range(64), draw=update)
        optimizer.zero_grad()
        (task.loss(model, batch, 0.0) / batch["expected"].lengths.sum()).backward()
        optimizer.step()
    unseen = counting(300)
    blanked = [[*row[:4], MASK, *row[5:]] for row in unseen]
    found = task.decode(model, blanked, DecodingConfig())
    assert sum(list(h.ids) == row for row, (h,) in zip(unseen, found, strict=True)) >= 297
