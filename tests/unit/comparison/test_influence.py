"""What written tokens hang on: a model that is known, matrices made by hand, and what follows from them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from transduce.comparison.measures import forgetting
from transduce.comparison.measures.alignment import measure_alignment
from transduce.comparison.measures.forgetting import Moment, left_at_most, measure_forgetting, share, words_of
from transduce.comparison.measures.influence import Influence, measure_influence, replace_one, spread
from transduce.comparison.subject import TestSet
from transduce.demo.corpus import Example
from transduce.text.tokenizer import Piece

EASY = Example("我爱水课", "I love easy courses", ((0, 1, 0, 1), (1, 2, 2, 6), (2, 4, 7, 19)), ("水课",), ())
SIZE = 7


class Copier:
    """Writes at each place the token that stands `back` places earlier in the source, with probability 0.94."""

    def __init__(self, sources: list[list[int]], back: int = 0) -> None:
        self.sources, self.targets, self.back = [sources], [sources], back

    def distributions(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        for i in reversed(range(len(sources))):
            table = torch.full((len(targets[i]), SIZE), 0.01)
            for place in range(len(targets[i])):
                table[place, sources[i][max(0, place - self.back)]] = 0.94
            yield i, table.log(), torch.tensor(targets[i])


@pytest.mark.parametrize("back", [0, 1])
def test_what_a_token_is_written_from_moves_it_and_nothing_else_does(back: int) -> None:
    found = measure_influence(Copier([[1, 2, 3], [4, 5], []], back))  # type: ignore[arg-type]
    assert [(one.test, one.row, tuple(one.lost.shape)) for one in found] == [(0, 1, (2, 2)), (0, 0, (3, 3))]
    for one in found:
        n = len(one.lost)
        from_ = torch.tensor([[j == max(0, i - back) for i in range(n)] for j in range(n)])
        # 0.94 and 0.01 change places: KL = 0.93 · ln 94.
        assert bool((one.moved[~from_] == 0).all()) and bool((one.lost[~from_] == 0).all())
        torch.testing.assert_close(one.moved[from_], torch.full((n,), 0.93 * 4.5433), rtol=1e-4, atol=0)
    if not back:
        torch.testing.assert_close(found[0].lost.diagonal(), torch.full((2,), 4.5433), rtol=1e-4, atol=0)


def test_a_token_is_replaced_by_another_of_the_text() -> None:
    rng = random.Random(1)
    drawn = [replace_one([1, 2, 3], 1, [2, 5, 9], rng) for _ in range(50)]
    assert all(row[0] == 1 and row[2] == 3 for row in drawn) and {row[1] for row in drawn} == {5, 9}
    assert replace_one([2], 0, [2, 2], rng) == [2]


def test_sentences_are_spread_over_the_tests() -> None:
    places = [(0, i) for i in range(7)]
    assert spread(places, 7) == places and spread(places, 3) == [(0, 0), (0, 2), (0, 4)]


def subject(
    *sources: str, labeller: bool = False, backwards: bool = False, examples: Sequence[Example | None] = ()
) -> Any:
    """Every character is a token."""

    def pieces(text: str) -> list[Piece]:
        return [Piece(17, "", i, i + 1) for i in range(len(text))]

    def words(text: str) -> list[Piece]:
        starts = [0, *(i + 1 for i, c in enumerate(text) if c == " ")]
        return [Piece(17, "", a, a + len(text[a:].split()[0])) for a in starts]

    model = SimpleNamespace(reads_backwards=backwards)
    return SimpleNamespace(
        tests=[TestSet("test", sources, sources, examples or [None] * len(sources), len(sources))],
        sources=[[list(map(ord, text)) for text in sources]],
        texts=[list(sources)],
        tokenizers=SimpleNamespace(source=SimpleNamespace(pieces=pieces), target=SimpleNamespace(pieces=words)),
        planned=SimpleNamespace(experiment=SimpleNamespace(model=model, target_language="en")),
        model=SimpleNamespace(capabilities=frozenset({"labeller"} if labeller else {"encoder-decoder"})),
    )


def influence(lost: Tensor, row: int = 0) -> Influence:
    return Influence(0, row, lost, lost)


def test_words_come_in_the_order_of_reading_without_what_is_always_there() -> None:
    one = influence(torch.zeros(5, 1))
    assert words_of(subject("a b c."), one) == [0, 2, 4]
    assert words_of(subject("a b c.", backwards=True), one) == [4, 2, 0]


@pytest.mark.parametrize(("backwards", "expected"), [(False, 2.0), (True, 0.5)])
def test_an_encoder_decoder_writes_when_it_has_read_all(backwards: bool, expected: float) -> None:
    # Of "abc." 4, 1 and 1 nats hang on the words, 9 on the full stop, which doesn't count; the mean is 2.
    lost = torch.tensor([[1.0, 3.0], [0.0, 1.0], [1.0, 0.0], [4.0, 5.0]])
    sources = ["abc."] * 10
    found = measure_forgetting(subject(*sources, backwards=backwards), [influence(lost, i) for i in range(10)])
    (kept,) = found.kept
    assert (kept.nearest, kept.farthest, kept.sentences, kept.share, kept.nats) == (2, 2, 10, expected, 3.0)
    assert found.left is None


def test_a_network_of_one_output_for_each_input_writes_while_it_reads() -> None:
    # Each output hangs on its own input with 3 nats and on the first, t places before, with 2^−t.
    n = 9
    lost = 3 * torch.eye(n)
    lost[0] = 0.5 ** torch.arange(n)
    sources = ["abcdefghi"] * 10
    found = measure_forgetting(subject(*sources, labeller=True), [influence(lost, i) for i in range(10)])
    assert [(k.nearest, k.farthest) for k in found.kept] == [(0, 0), (1, 3), (4, 7), (8, 8)]
    last = 2**-8
    assert found.kept[0].share == 1 and found.kept[-1].share == pytest.approx(last / ((3 + last) / n))
    assert found.kept[-1].nats == pytest.approx(3 + last)
    assert found.left == pytest.approx(found.kept[-1].share)


def test_one_that_reads_nothing_keeps_nothing_whatever_it_writes() -> None:
    """As a constant output does, which has the first word of most references."""
    sources = ["Ein Mann", "Eine Frau geht im Park", "Ein Kind spielt"] * 10
    lost = [influence(torch.zeros(len(text), 3), i) for i, text in enumerate(sources)]
    found = measure_forgetting(subject(*sources), lost)
    assert [(k.share, k.nats) for k in found.kept] == [(0.0, 0.0)] * len(found.kept)
    assert [(g.shortest, g.longest, g.sentences) for g in found.groups] == [(8, 8, 10), (15, 15, 10), (22, 22, 10)]
    assert found.groups[-1].bleu == pytest.approx(100)


def test_chance_may_leave_more_than_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def moments(*firsts: float) -> list[list[Moment]]:
        return [[Moment(3, first, 1.0, 2)] for first in firsts]

    near = moments(*[1.0] * 20)
    assert share(moments(0.5, 0.7)) == pytest.approx(0.6)
    # All alike: nothing is left to chance. Half 0 and half 1: at most about ½ + 2 · ½ / √20.
    assert left_at_most(near, moments(*[0.5] * 20)) == pytest.approx(0.5)
    assert 0.65 < left_at_most(near, moments(*[0.0, 1.0] * 10)) < 0.8
    monkeypatch.setattr(forgetting, "SURE", 0.5)
    assert left_at_most(near, moments(*[0.0, 1.0] * 10)) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("links", "error"), [([0, 1, 2, 3], 0.0), ([0, 1, 0, 0], 1 - 4 / 7), ([1, 0, 0, 0], 1.0), ([2, 2, 2, 2], 1 - 3 / 7)]
)
def test_links_go_to_what_moves_most(links: list[int], error: float) -> None:
    # An end mark is written as well, and links to nothing.
    moved = torch.full((4, 5), 0.1)
    for i, j in enumerate(links):
        moved[j, i] = 2.0
    one = Influence(0, 0, torch.zeros(4, 5), moved)
    found = measure_alignment(subject(EASY.source, examples=[EASY]), [one])
    assert found is not None
    assert (found.sentences, found.attention) == (1, None) and found.error == pytest.approx(error)
    # A straight line goes from the four words to the four characters.
    assert found.diagonal == 0


def test_what_the_task_has_no_room_for_has_no_link_and_lacks_its_phrase() -> None:
    found = measure_alignment(subject(EASY.source, examples=[EASY]), [influence(torch.eye(4)[:, :2])])
    assert found is not None
    # I and love: 2 of 2 links, 2 of 3 phrases.
    assert found.error == pytest.approx(1 - 4 / 5) == found.diagonal
    assert measure_alignment(subject(EASY.source), [influence(torch.eye(4))]) is None
