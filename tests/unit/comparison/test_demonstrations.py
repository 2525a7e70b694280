"""Each demonstration says what is so of the real layers, and would say otherwise of broken ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from transduce.comparison.demonstrations import attention, learning, memory, positions, words
from transduce.comparison.demonstrations.demonstration import Demonstration, seeded
from transduce.demo.questions import KINDS
from transduce.inspection.layerwise import Similarity
from transduce.layers import position
from transduce.layers.additive_attention import additive_scores
from transduce.layers.attention import attention_scores
from transduce.layers.masks import causal_mask
from transduce.run_folder import RunFolder, read_json
from transduce.text.specials import RESERVED
from transduce.translator import Translator

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


@pytest.fixture(scope="module")
def shipped() -> Translator:
    return words.shipped()


def column(d: Demonstration, number: int) -> dict[str, str]:
    return {row[0]: row[number] for row in d.table.rows}


def test_random_numbers_of_others_are_left_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    with seeded():
        first = torch.rand(1)
    assert torch.equal(torch.rand(1), expected)
    with seeded():
        assert torch.equal(torch.rand(1), first)


def test_order_is_not_seen_without_positions() -> None:
    assert positions.equivariance().holds
    assert positions.reordered("none") < 1e-5 < 0.1 < positions.reordered("sinusoidal")


def test_positions_that_add_nothing_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position.SinusoidalPositions, "forward", lambda self, x, start=0: x)
    assert not positions.equivariance().holds


def test_bare_numbers_grow_and_sinusoids_do_not() -> None:
    found = positions.scalar_against_sinusoids()
    assert found.holds
    # 10 · 14 and 100 · 104; of sinusoids Σ cos(4 / 10000^(2i/512)) over 256 pairs, wherever they stand.
    assert positions.products("scalar")[:2] == [140.0, 10_400.0]
    expected = sum(math.cos(4 / 10_000 ** (2 * i / 512)) for i in range(256))
    assert positions.products("sinusoidal") == pytest.approx([expected] * 4, rel=1e-5)


def test_sinusoids_of_another_formula_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(at: Tensor, d_model: int) -> Tensor:
        return 2 * _sinusoidal(at, d_model)

    _sinusoidal = position.sinusoidal
    monkeypatch.setattr(position, "sinusoidal", twice)
    assert not positions.scalar_against_sinusoids().holds


def test_the_gradient_of_a_softmax_by_hand() -> None:
    # Two equal scores: weights ½ and ½, derivatives ½ · ½.
    assert attention.gradient(torch.zeros(3, 2)) == pytest.approx(0.25)
    # e^10 to 1: w(1 − w) is 4.54e-5.
    assert attention.gradient(torch.tensor([[10.0, 0.0]])) == pytest.approx(4.54e-5, rel=1e-2)


def test_scaling_keeps_the_gradient_and_its_absence_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert attention.saturation().holds

    def unscaled(q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-2, -1)

    monkeypatch.setattr(attention, "attention_scores", unscaled)
    assert not attention.saturation().holds


def test_hidden_by_infinity_and_by_zero() -> None:
    assert attention.masking().holds
    later, off, change = attention.hidden_by(-math.inf)
    assert later == change == 0 and off < 1e-6
    later, off, change = attention.hidden_by(0.0)
    assert later > 0.1 and off < 1e-6 and change > 0.01


def test_a_mask_that_is_a_place_late_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(size: int, device: torch.device) -> Tensor:
        return causal_mask(size, device) | torch.ones(size, size, dtype=torch.bool).tril(1)

    monkeypatch.setattr("transduce.layers.attention.causal_mask", late)
    assert not attention.masking().holds


def test_bytes_that_are_kept_for_gradients() -> None:
    d_k, v = 16, torch.randn(16, requires_grad=True)
    _, dot = attention.cost(attention_scores, d_k)
    _, additive = attention.cost(lambda q, k: additive_scores(q, k, v), d_k)
    inputs = 2 * attention.BATCH * attention.LENGTH * d_k * 4
    assert dot == inputs
    # A tanh for each pair of words and each of d_k; and v.
    assert additive == attention.BATCH * attention.LENGTH**2 * d_k * 4 + d_k * 4
    found = attention.additive_against_dot()
    assert [float(row[3]) > float(row[4]) for row in found.table.rows] == [True] * 3


@pytest.mark.parametrize(
    ("dot", "holds"),
    [
        ([(0.1, 10), (0.1, 10), (0.1, 10)], True),
        # Slower at one width of three, or as large.
        ([(0.1, 10), (0.3, 10), (0.1, 10)], False),
        ([(0.1, 10), (0.1, 10), (0.1, 20)], False),
    ],
)
def test_the_verdict_on_cost_follows_from_times_and_bytes(
    monkeypatch: pytest.MonkeyPatch, dot: list[tuple[float, int]], holds: bool
) -> None:
    """Seconds and bytes by width: for addition always 0.2 and 20."""
    found = iter([cost for one in dot for cost in ((0.2, 20), one)])
    monkeypatch.setattr(attention, "cost", lambda *_: next(found))
    assert attention.additive_against_dot().holds == holds


def test_one_water_and_two_contexts(shipped: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    found = words.two_waters(shipped)
    assert found.holds
    assert column(found, 1)["embedding"] == "1.000" and float(column(found, 1)["output"]) < 0.9
    # An encoder that hands its input on leaves the two as they were.
    same = [Similarity("encoder.embedding", 1.0), Similarity("encoder.output", 1.0)]
    monkeypatch.setattr(words, "similarities", lambda *_: same)
    assert not words.two_waters(shipped).holds


def threes(angle: float) -> np.ndarray:
    """Three vectors in one direction and three in another, at an angle."""
    return np.array([[1.0, 0.0]] * 3 + [[math.cos(angle), math.sin(angle)]] * 3)


def test_cohesion_and_rank_by_hand() -> None:
    assert words.cohesion(threes(math.pi / 2), (0, 1, 2)) == pytest.approx((1.0, 0.0))
    assert words.rank(threes(math.pi / 3)) == 1
    # The second word with the last three, the last with the first: another way to part them is better.
    mixed = threes(math.pi / 2)[[0, 5, 2, 3, 4, 1]]
    assert words.rank(mixed) > 1
    # All alike: no way is better, and this one is not singled out.
    assert words.rank(threes(0.0)) == 10


def test_the_map_is_of_the_words_vectors_before_and_after(shipped: Translator) -> None:
    found = words.map_of_words(shipped)
    table = shipped.models[0].source_embedding.weight  # type: ignore[union-attr]
    ids = shipped.tokenizers.source.encode_batch(["河流"])[0]
    expected = table[ids].mean(0)  # type: ignore[index]
    vector = words.word_vectors(shipped.models[0], shipped.tokenizers.source, ["河流"])[0]
    np.testing.assert_allclose(vector, (expected / expected.norm()).detach().numpy(), rtol=1e-5)
    before, after = found.charts
    assert [point[:2] for point in before.points] == [point[:2] for point in after.points]  # type: ignore[union-attr]
    assert before.points[0][2:] != after.points[0][2:]  # type: ignore[union-attr]
    # The verdict is the rank that is told.
    assert found.holds == ("after: " in found.measured and found.measured.endswith("place 1 of the ten."))


def test_neighbours_are_sought_in_the_whole_vocabulary(shipped: Translator) -> None:
    model, tokenizer = shipped.models[0], shipped.tokenizers.source
    (found,) = words.neighbours(model, tokenizer, ["河流"])
    own = tokenizer.encode_batch(["河流"])[0]
    table: Tensor = model.source_embedding.weight  # type: ignore[union-attr, assignment]
    cosines = torch.cosine_similarity(table, table[own].mean(0, keepdim=True)).detach()
    rows = sorted((float(c), id) for id, c in enumerate(cosines) if id >= RESERVED and id not in own)[::-1]
    expected = [(tokenizer.piece_name(id).strip(), c) for c, id in rows[: words.NEAREST]]
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [c for _, c in found] == pytest.approx([c for _, c in expected], abs=1e-5)
    # They are those after training, and were others before.
    row = words.map_of_words(shipped).table.rows[1]
    assert row[0] == "河流" and all(f"{name} {cosine:.2f}" in row[2] for name, cosine in found) and row[1] != row[2]


def test_finding_a_word_needs_its_scores() -> None:
    with seeded(1):
        model = learning.Lookup("scaled dot", 4)
        words_, labels = torch.tensor([[3, 7]]), torch.tensor([[1, 2]])
        with torch.no_grad():
            model.W_q.weight.copy_(torch.eye(16)[:4])
            model.W_k.weight.copy_(torch.eye(16)[:4])
            model.words.weight.zero_()
            model.words.weight[3, 0] = model.words.weight[7, 1] = 10.0
            found = model(torch.tensor([[7]]), words_, labels)
    torch.testing.assert_close(found[0], model.values[2], rtol=0, atol=1e-3)


def losses(monkeypatch: pytest.MonkeyPatch, by_call: list[float]) -> None:
    """Training that comes to these losses, one after another."""
    calls = iter(by_call)
    monkeypatch.setattr(learning, "learn", lambda *_, **__: next(calls))


def test_the_verdict_on_scores_follows_from_the_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict(additive: float, dot: float, scaled: float) -> bool:
        # Three widths with two seeds each; only the last width differs.
        losses(monkeypatch, [v for last in (additive, dot, scaled) for v in (0.5, 0.5, 0.5, 0.5, last, last)])
        return learning.scores_by_width().holds

    assert verdict(0.4, 1.0, 0.4)
    assert not verdict(0.4, 0.5, 0.4)  # the plain product has not fallen behind
    assert not verdict(0.4, 1.0, 1.0)  # scaling has not mended it


def test_the_verdict_on_depth_follows_from_the_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict(*deep: float) -> Demonstration:
        losses(monkeypatch, [v for last in deep for v in (0.01, 0.5, last)])
        return learning.depth()

    assert verdict(0.02, 15.0, 1.9, 1.9).holds
    assert not verdict(1.9, 15.0, 1.9, 1.9).holds
    assert not verdict(0.02, 15.0, 0.02, 1.9).holds
    assert "residual alone inf" in verdict(0.02, math.nan, 1.9, 1.9).measured


def test_the_verdict_on_positions_follows_from_what_was_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict(**far: float) -> bool:
        shares = {"sinusoidal": 0.95, "learned": 0.97, "scalar": 0.9, "none": 0.3}
        monkeypatch.setattr(learning, "copying", lambda kind, *_: [shares[kind]] * 7 + [far.get(kind, 0.2)])
        return learning.positions_beyond().holds

    assert verdict(sinusoidal=0.8, learned=0.5, scalar=0.4)
    assert not verdict(sinusoidal=0.55, learned=0.5, scalar=0.4)
    assert not verdict(sinusoidal=0.8, learned=0.5, scalar=0.85)


@pytest.mark.parametrize(("residual", "norm", "least", "most"), [(True, "post", 0.0, 0.5), (False, "none", 1.0, 99.0)])
def test_a_token_comes_through_a_deep_stack_by_its_residuals(
    residual: bool, norm: Any, least: float, most: float
) -> None:
    with seeded():
        stack = learning.Stack(5, residual=residual, norm=norm)
        found = learning.learn(stack, stack.loss, updates=50, rate=3e-3, warmup=20)
    assert least < found < most


def test_the_verdict_on_hops_follows_from_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict(one: float, three: float) -> bool:
        chained = {1: one, 3: three}
        monkeypatch.setattr(memory, "answered", lambda hops, *_: [0.9, chained[hops], 0.5, 0.8])
        return memory.recurrent_attention().holds

    assert KINDS[1] == memory.CHAINED
    assert verdict(0.4, 0.9) and not verdict(0.9, 0.95) and not verdict(0.9, 0.4)


def test_a_memory_network_is_trained_on_questions_and_asked_each_kind(tmp_path: Path) -> None:
    shares = memory.answered(2, 3, tmp_path)
    run = RunFolder.open(tmp_path / "2")
    model = run.experiment.model
    assert (run.experiment.task, model.kind, model.hops) == ("answer", "memory_network", 2)  # type: ignore[union-attr]
    results = read_json(run.path / "results.json")
    assert results["updates"] == 3 and list(results["tests"]) == list(KINDS)
    exact = [{s["name"]: s for s in test["scores"]}["exact"] for test in results["tests"].values()]
    assert shares == [score["value"] / 100 for score in exact]
    # Each kind has questions of its own.
    assert len({test["sha256"] for test in results["tests"].values()}) == len(KINDS)


def test_copies_are_learned_with_positions_and_are_the_worse_the_longer_without() -> None:
    with_, without = (learning.copying(kind, 150, seed=1) for kind in ("sinusoidal", "none"))
    assert len(with_) == len(without) == len(learning.LENGTHS)
    # Without positions the model knows which tokens there are: at 4, one in four is right by guessing.
    assert with_[0] > 0.9 and without[0] < 0.7
    assert all(a - b > 0.1 for a, b in zip(with_, without, strict=True))
    quarter = len(without) // 4
    means = [sum(without[i : i + quarter]) / quarter for i in range(0, len(without), quarter)]
    assert means == sorted(means, reverse=True) and means[0] > means[-1] + 0.2
