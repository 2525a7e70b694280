"""The learning rate of each update (paper 5.3)."""

from __future__ import annotations

from transduce.experiment import TrainingConfig


def learning_rate(update: int, d_model: int, config: TrainingConfig) -> float:
    """d_model^−0.5 · min(update^−0.5, update · warmup^−1.5) for update = 1, 2, …; its peak is at `warmup`.

    `config.learning_rate` sets another peak, `config.decay = "linear"` a straight way down from it to
    zero just after `max_updates`.
    """
    warmup = config.warmup
    peak = config.learning_rate or (d_model * warmup) ** -0.5
    if update <= warmup:
        return peak * update / warmup
    if config.decay == "linear":
        return peak * max(0, config.max_updates + 1 - update) / max(1, config.max_updates + 1 - warmup)
    return peak * (warmup / update) ** 0.5
