"""An end-to-end memory network, on text of its own: it answers questions, and translates nothing (article 1.8)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transduce.comparison.demonstrations.demonstration import Demonstration, Lines
from transduce.comparison.document import Table
from transduce.demo.questions import KINDS, Kind
from transduce.experiment import Experiment
from transduce.recipe import train

HOPS = (1, 3)
CHAINED: Kind = "two-facts"
"""The questions whose answer stands in a sentence that another one leads to."""
MORE = 0.1
"""Share of the answers by which more hops have to be better."""


def experiment(hops: int, updates: int) -> Experiment:
    """Stories and questions that the program makes itself; words are weighted alike wherever they stand."""
    table: dict[str, Any] = {
        "name": f"hops-{hops}",
        "task": "answer",
        "preset": "tiny",
        "data": {
            "train": [{"builtin": "questions-train"}],
            "valid": {"builtin": "questions-valid"},
            "test": {kind: {"builtin": f"questions-test-{kind}"} for kind in KINDS},
        },
        "model": {"kind": "memory_network", "hops": hops, "d_model": 64, "sentence": "bag"},
        "training": {
            "batch_tokens": 1024, "update_tokens": 1024, "learning_rate": 5e-3, "warmup": 50, "decay": "linear",
            "max_updates": updates, "validate_every": updates, "save_every": updates, "average": 1, "patience": 0,
            "clip_norm": 1.0,
        },
        "compute": {"device": "cpu", "threads": 1},
    }  # fmt: skip
    return Experiment.model_validate(table)


def answered(hops: int, updates: int, folder: Path) -> list[float]:
    """Share of the test questions that are answered rightly, by kind."""
    outcome = train(experiment(hops, updates), folder / f"{hops}")
    if outcome.signal:
        raise KeyboardInterrupt
    found = {test.name: score.value / 100 for test in outcome.tests for score in test.scores if score.name == "exact"}
    return [found[kind] for kind in KINDS]


def recurrent_attention(updates: int = 600) -> Demonstration:
    with TemporaryDirectory() as folder:
        shares = {hops: answered(hops, updates, Path(folder)) for hops in HOPS}
    few, many = (dict(zip(KINDS, shares[hops], strict=True)) for hops in (HOPS[0], HOPS[-1]))
    return Demonstration(
        title="A memory network reads several times",
        section="1.8",
        says="The end-to-end memory network is a recurrent attention: it reads its memory in several hops, each led by "
        "what the one before has found.",
        rule=f"of questions whose answer stands in a sentence that another one leads to, {HOPS[-1]} hops answer at "
        f"least {MORE:.0%} more rightly than {HOPS[0]} hop does",
        measured=f"On text of its own (stories and questions that the program makes), after {updates} updates: "
        f"{few[CHAINED]:.0%} of such questions with {HOPS[0]} hop, {many[CHAINED]:.0%} with {HOPS[-1]}.",
        holds=many[CHAINED] - few[CHAINED] >= MORE,
        table=Table(["K hops", *KINDS], [[f"{hops}", *_percent(shares[hops])] for hops in HOPS]),
        charts=[Lines("questions answered rightly, by kind", "", "share",
                      [(f"K = {hops}", list(range(len(KINDS))), shares[hops]) for hops in HOPS], ticks=KINDS)],
    )  # fmt: skip


def _percent(shares: Sequence[float]) -> list[str]:
    return [f"{share:.0%}" for share in shares]
