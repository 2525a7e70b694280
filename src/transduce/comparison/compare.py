"""From trained members to a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from transduce.comparison.demonstrations.demonstrate import demonstrate
from transduce.comparison.family import TOLERANCE, Planned
from transduce.comparison.measured import Measured, measure
from transduce.comparison.measures.layers import measure_layers
from transduce.comparison.measures.showcase import shown
from transduce.comparison.report import Comparison
from transduce.comparison.setting import machine, named
from transduce.comparison.subject import MOST, Subject, TestSet, read_tests
from transduce.experiment import Experiment, TrainingConfig


def compare(
    base: Experiment,
    planned: Sequence[Planned],
    runs: Sequence[Path],
    say: Callable[[str], None],
    *,
    demonstrations: bool,
    goal: float | None = None,
) -> Comparison:
    """Measure each finished run, and demonstrate single parts if wanted. `say` hears what is being done; `goal` is a
    BLEU to which time is told."""
    tests = read_tests(planned[0].experiment) if planned else []
    sentences = shown(tests) if planned else []
    family: list[Measured] = []
    for one, run in zip(planned, runs, strict=True):
        say(f"measuring {one.label}")
        family.append(measure(Subject(one, run, tests), sentences))
    layers = []
    if planned:
        say("measuring the layers")
        layers = measure_layers()
    demonstrated = demonstrate(say) if demonstrations else []
    setting = _setting(base, planned, family, tests) if planned else [f"{machine()}."]
    return Comparison(setting, family, layers, sentences, demonstrated, goal)


def _setting(
    base: Experiment, planned: Sequence[Planned], family: Sequence[Measured], tests: Sequence[TestSet]
) -> list[str]:
    training = planned[0].experiment.training
    tokens = max(m.scores.target_tokens for m in family)
    sizes = [one.parameters for one in planned]
    until = f"{training.max_minutes:g} minutes" if training.max_minutes else f"{training.max_updates:,} updates"
    lines = ", ".join(f"“{test.name}” {test.lines:,}" for test in tests)
    some = any(test.lines > len(test.sources) for test in tests)
    return [
        f"The experiment {named(base)}: every model reads the same batches of the same text in the same "
        f"pieces for {until}, which are {tokens:,} target tokens at most (models that write a token for each token of "
        "the source have no room for some), and none sees the tests.",
        f"Lines of the tests: {lines}. Scores are of all of them"
        + (f"; outputs are looked at one by one for the first {MOST} of each." if some else "."),
        f"{min(sizes):,} to {max(sizes):,} parameters: as many as the experiment's own model, within {TOLERANCE:.0%}.",
        _rates(training),
        f"Seed {training.seed}. One run of each model: differences of a point or two say nothing.",
        f"{machine()}. Times are good for comparison within this report.",
    ]


def _rates(training: TrainingConfig) -> str:
    """How fast they learn, in a sentence or two."""
    peak = (
        f"All share one peak learning rate, {training.learning_rate:g}, and none had it tuned"
        if training.learning_rate
        else "The peak learning rate is the paper's formula, by each one's width"
    )
    # Nobody knows how many updates a number of minutes will be.
    fall = (
        " With a budget in minutes it falls by 1/√step, whatever the experiment says." if training.max_minutes else ""
    )
    return f"{peak}; they reach it after {training.warmup:,} updates.{fall}"
