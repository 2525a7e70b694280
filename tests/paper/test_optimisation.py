"""How the model is trained: facts 17, 18 and 20 (paper 5.3, 5.4, 6.1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from transduce.data.batch import Batch, Stream
from transduce.experiment import TrainingConfig
from transduce.experiment.presets import PRESETS, PresetName
from transduce.layers.tap import record
from transduce.models.transformer import Transformer, TransformerConfig
from transduce.run_folder import load_weights, write_snapshot
from transduce.tasks.translate import Translate
from transduce.text.specials import BOS, EOS, RESERVED
from transduce.training.averaging import average_weights
from transduce.training.optimizer import Adam
from transduce.training.schedule import learning_rate

VOCABULARY = 37


@pytest.mark.parametrize(("d_model", "warmup"), [(512, 4000), (1024, 4000), (128, 7)])
def test_fact_17_learning_rate_formula_and_its_peak(d_model: int, warmup: int) -> None:
    config = TrainingConfig(warmup=warmup)
    updates = range(1, 3 * warmup)
    rates = [learning_rate(update, d_model, config) for update in updates]
    formula = [d_model**-0.5 * min(update**-0.5, update * warmup**-1.5) for update in updates]
    assert rates == pytest.approx(formula, rel=1e-12)
    assert updates[rates.index(max(rates))] == warmup


def test_fact_18_optimizer_and_warm_up_are_the_papers() -> None:
    config = TrainingConfig()
    assert config.warmup == 4000
    optimizer = Adam(torch.nn.Linear(2, 3), config)
    assert optimizer.betas == (0.9, 0.98) and optimizer.epsilon == 1e-9


def test_fact_18_label_smoothing_of_a_tenth() -> None:
    smoothing = TrainingConfig().label_smoothing
    assert smoothing == 0.1
    model = small().eval()
    batch = Translate().batch([[21, 22]], [[23, 24, 25]], [0])
    loss = Translate().loss(model, batch, smoothing)
    logits = model(batch["source"].ids, batch["source"].lengths, batch["previous"].ids)[0].detach()
    expected = 0.0
    for log_p, token in zip(logits.log_softmax(-1), (23, 24, 25, EOS), strict=True):
        q = torch.full((VOCABULARY,), 0.1 / VOCABULARY)
        q[token] += 0.9
        expected -= float((q * log_p).sum())
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def small(**changes: object) -> Transformer:
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 114, "d_ff": 127, "heads": 2}
    return TransformerConfig(**{**sizes, **changes}).build(VOCABULARY, VOCABULARY)


def record_forward(model: Transformer) -> dict[str, Tensor]:
    source = Stream.pad([torch.randint(RESERVED, VOCABULARY, (n,)).tolist() for n in (11, 5, 2)])
    previous = torch.full((3, 7), BOS)
    previous[:, 1:] = torch.randint(RESERVED, VOCABULARY, (3, 6))
    seen: dict[str, Tensor] = {}
    with torch.no_grad(), record(lambda name, value: seen.setdefault(name, value)):
        model(source.ids, source.lengths, previous)
    return seen


def test_fact_18_dropout_acts_on_each_sub_layers_output_before_the_addition() -> None:
    assert TransformerConfig().dropout == 0.1
    model = small()
    # A layer reads what dropout left of the sum of embedding and position: no tap shows it.
    read: dict[str, Tensor] = {}
    watch_inputs(model, read)
    seen = record_forward(model)
    for side in ("encoder", "decoder"):
        x = read[side]
        names = [n.removesuffix(".residual.sum") for n in seen if n.startswith(side) and n.endswith(".residual.sum")]
        assert len(names) == {"encoder": 4, "decoder": 6}[side]
        for name in names:
            check_dropout(seen[f"{name}.residual.sum"] - x, seen[f"{name}.output"], 0.1)
            x = seen[f"{name}.residual.output"]


@pytest.mark.parametrize(("preset", "p"), [("base", 0.1), ("big", 0.3)])
def test_fact_18_dropout_acts_on_the_sum_of_embedding_and_position(preset: PresetName, p: float) -> None:
    config = TransformerConfig(**PRESETS[preset].get("model", {}))
    assert config.dropout == p
    model = small(dropout=config.dropout)
    read: dict[str, Tensor] = {}
    watch_inputs(model, read)
    seen = record_forward(model)
    for side in ("encoder", "decoder"):
        embedded = model.positions(seen[f"{side}.embedding"])
        torch.testing.assert_close(seen[f"{side}.input"], embedded)
        check_dropout(read[side], embedded, p)


def watch_inputs(model: Transformer, read: dict[str, Tensor]) -> None:
    """Keep what the first layer of each side is given."""

    def keep(side: str) -> Callable[..., None]:
        return lambda _, given: read.update({side: given[0]})

    model.encoder[0].register_forward_pre_hook(keep("encoder"))
    model.decoder[0].register_forward_pre_hook(keep("decoder"))


def check_dropout(after: Tensor, before: Tensor, p: float) -> None:
    """One value in 1/p is gone, the others are larger by 1/(1 − p)."""
    gone = after.abs() < 1e-5
    kept = (after - before / (1 - p)).abs() < 1e-5
    assert (gone | kept).all()
    share = gone[before.abs() > 1e-3].float().mean()
    assert share.item() == pytest.approx(p, abs=0.04)


def test_fact_20_how_many_checkpoints_are_averaged() -> None:
    assert TrainingConfig().average == 5
    assert PRESETS["big"]["training"]["average"] == 20
    assert "average" not in PRESETS["base"].get("training", {})


@pytest.mark.parametrize("count", [3, 5])
def test_fact_20_case_197_the_average_is_the_mean_of_the_checkpoints(count: int, tmp_path: Path) -> None:
    models = [small() for _ in range(count)]
    snapshots = [
        write_snapshot(tmp_path / f"step-{i}", {"weights": dict(model.named_parameters())}, {})
        for i, model in enumerate(models)
    ]
    average = average_weights(snapshots)
    assert average.keys() == dict(models[0].named_parameters()).keys()
    for name, mean in average.items():
        each = torch.stack([dict(model.named_parameters())[name].detach() for model in models]).double()
        torch.testing.assert_close(mean.double(), each.mean(0), rtol=0, atol=1e-7)
    # What was averaged is a model again, tied matrices and all.
    result = small()
    load_weights(result, write_snapshot(tmp_path / "average", {"weights": average}, {}))
    assert torch.equal(result.projection, average["projection"])
    batch: Batch = Translate().batch([[21]], [[22]], [0])
    assert math.isfinite(Translate().loss(result.eval(), batch, 0.1).item())
