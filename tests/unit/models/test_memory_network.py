"""The memory network by hand: its sentences, one hop, three hops with their shared matrices, and what it forgets."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from transduce.layers.tap import record
from transduce.models import MemoryNetworkConfig
from transduce.models.memory_network import MemoryNetwork
from transduce.text.specials import PAD
from transduce.text.vocabulary import FULL_STOP_ID as STOP

WIDTH, SOURCE_VOCABULARY, TARGET_VOCABULARY = 3, 31, 37
SENTENCES = [[23, 24, STOP], [25, STOP], [26, 24, 27, STOP]]
QUESTION = [28, 29]
SOURCE = torch.tensor([[*(id for ids in SENTENCES for id in ids), *QUESTION, PAD, PAD]])
LENGTHS = torch.tensor([11])


def built(**settings: Any) -> MemoryNetwork:
    model = MemoryNetworkConfig(d_model=WIDTH, **settings).build(SOURCE_VOCABULARY, TARGET_VOCABULARY)
    return model.double().eval()


def weight(k: int, j: int, words: int) -> float:
    """l_kj, k and j from 1 (4.1)."""
    return (1 - j / words) - (k / WIDTH) * (1 - 2 * j / words)


def vector(embedding: Tensor, ids: list[int], sentence: str = "position") -> list[float]:
    result = [0.0] * WIDTH
    for j, id in enumerate(ids, start=1):
        for k in range(1, WIDTH + 1):
            factor = weight(k, j, len(ids)) if sentence == "position" else 1.0
            result[k - 1] += factor * float(embedding[id, k - 1].detach())
    return result


def matrices(model: MemoryNetwork) -> list[Any]:
    """A¹, C¹ … Cᴷ."""
    return [model.source_embedding.weight, *(C.weight for C in model.C)]


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def by_hand(model: MemoryNetwork, sentences: list[list[int]], question: list[int], sentence: str) -> list[float]:
    """W uᴷ⁺¹, with nothing but sums of numbers."""
    embeddings = matrices(model)
    u = vector(embeddings[0], question, sentence)
    for hop in range(len(model.C)):
        m, c = (
            [
                [x + t for x, t in zip(vector(embeddings[e], s, sentence), model.T[e][i].tolist(), strict=True)]
                for i, s in enumerate(reversed(sentences))
            ]
            for e in (hop, hop + 1)
        )
        exponentials = [math.exp(dot(u, row)) for row in m]
        p = [e / sum(exponentials) for e in exponentials]
        u = [x + sum(p[i] * c[i][k] for i in range(len(p))) for k, x in enumerate(u)]
    return [dot(u, row) for row in model.projection.tolist()]


@pytest.mark.parametrize("sentence", ["position", "bag"])
@pytest.mark.parametrize("hops", [1, 3])
def test_the_papers_equations(hops: int, sentence: str) -> None:
    model = built(hops=hops, sentence=sentence)
    assert model(SOURCE, LENGTHS)[0].tolist() == pytest.approx(by_hand(model, SENTENCES, QUESTION, sentence))


def test_the_weights_of_words_by_their_places() -> None:
    # Of one word each weight is k/d, of the first of two always a half.
    assert [weight(k, 1, 1) for k in (1, 2, 3)] == pytest.approx([1 / 3, 2 / 3, 1])
    assert [weight(k, 1, 2) for k in (1, 2, 3)] == pytest.approx([0.5, 0.5, 0.5])
    found = built()._positions(torch.tensor([[[0, 0, 1], [1, 1, 0]]], dtype=torch.bool))
    assert found[0].tolist() == [
        pytest.approx([weight(k, j, n) for k in (1, 2, 3)]) for j, n in ((1, 2), (2, 2), (1, 1))
    ]


def test_one_hop_with_numbers() -> None:
    """Two memories: u · m is ln 3 for the one and 0 for the other, so that the one counts three times as much."""
    model = built(hops=1, sentence="bag")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        A, C = matrices(model)
        A[25, 0], A[28, 0] = math.log(3), 1.0
        C[23, 1], C[25, 1] = 8.0, 4.0
        model.projection[30] = torch.tensor([1.0, 10.0, 100.0])
    seen: dict[str, list[Any]] = {}

    def look(name: str, value: Tensor) -> Tensor:
        seen[name] = value[0].tolist()
        return value

    with record(look):
        logits = model(torch.tensor([[23, STOP, 25, STOP, 28]]), torch.tensor([5]))
    # The last sentence comes first.
    assert seen["hop.0.weights"] == pytest.approx([0.75, 0.25])
    assert seen["hop.0.output"] == pytest.approx([0, 0.75 * 4 + 0.25 * 8, 0])
    assert seen["hop.0.state"] == pytest.approx([1, 5, 0])
    assert float(logits[0, 30].detach()) == pytest.approx(51)


def test_a_question_may_end_with_a_full_stop_and_a_story_may_be_empty() -> None:
    model = built()
    stopped = torch.tensor([[*SOURCE[0, :11].tolist(), STOP]])
    expected = by_hand(model, SENTENCES, [*QUESTION, STOP], "position")
    assert model(stopped, torch.tensor([12]))[0].tolist() == pytest.approx(expected)
    alone = model(torch.tensor([QUESTION]), torch.tensor([2]))[0]
    u = vector(model.source_embedding.weight, QUESTION)
    assert alone.tolist() == pytest.approx([dot(u, row) for row in model.projection.tolist()])


def test_only_the_last_sentences_are_remembered() -> None:
    model = built(memories=2)
    assert model(SOURCE, LENGTHS)[0].tolist() == pytest.approx(by_hand(model, SENTENCES[1:], QUESTION, "position"))


def test_the_order_of_words_counts_by_position_only() -> None:
    turned = SOURCE.clone()
    turned[0, :2] = SOURCE[0, :2].flip(0)
    for sentence, same in (("bag", True), ("position", False)):
        model = built(sentence=sentence)
        assert torch.allclose(model(turned, LENGTHS), model(SOURCE, LENGTHS)) == same


def test_the_order_of_sentences_counts() -> None:
    model = built(sentence="bag")
    first, second, third = SENTENCES
    other = torch.tensor([[*second, *first, *third, *QUESTION]])
    assert not torch.allclose(model(other, LENGTHS), model(SOURCE, LENGTHS))
