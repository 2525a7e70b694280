"""What a person sees while a model trains."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from transduce.commands.telling import legible
from transduce.data.passes import clock
from transduce.experiment import Experiment, ProbeConfig
from transduce.recipe import Announcement, Watcher
from transduce.run_folder import Snapshot
from transduce.training.distributed import leads
from transduce.training.state import TrainingState
from transduce.training.validation import Validation

PLAIN_EVERY = 10.0
"""Seconds between progress lines where no one watches a terminal."""
WINDOW = 20
"""Updates over which speed and loss are averaged."""
LEAST_GAIN = 0.05
"""Nats per token that its sources must be worth to a model after warm-up. A translator has one or more; one whose
targets are shifted by a line, or one that has learned no more than how frequent words are, about none."""


class TerminalWatcher(Watcher):
    """One live line on a terminal, a plain line every so often elsewhere; both on standard error."""

    def __init__(self, experiment: Experiment, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False, soft_wrap=True, quiet=not leads())
        self.probes: Sequence[ProbeConfig] = experiment.validation.probes
        self.warmup = experiment.training.warmup
        self.validations: list[tuple[int, Validation]] = []
        self._recent: deque[tuple[int, float, float]] = deque(maxlen=WINDOW)
        self._last_line = 0.0
        self._since: tuple[int, float] | None = (0, 0.0)
        """Updates and seconds before this sitting: a machine may have been busier then. Unknown until its first update
        where a run goes on."""
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[text]}"),
            console=self.console, transient=True, disable=not self.console.is_terminal,
        )  # fmt: skip
        self._task: TaskID | None = None

    def __enter__(self) -> TerminalWatcher:
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        self.console.print(legible(text), markup=False, emoji=False)

    def preparing(self, what: str) -> None:
        self._progress.stop()
        self.say(f"{what} …")

    def noticed(self, what: str) -> None:
        self.say(what)

    def announced(self, announcement: Announcement) -> None:
        a = announcement
        self.say(a.report.render())
        source, target = a.vocabularies
        vocabulary = f"{source:,}" if source == target else f"{source:,} + {target:,}"
        self.say(f"model: {a.parameters:,} parameters, vocabulary {vocabulary}")
        self.say(f"effective batch: {a.effective_batch}")
        self.say(f"compute: {a.compute}")
        if a.resumed_at:
            self.say(f"resumed after update {a.resumed_at:,}")
            self._since = None
        self._last_line = time.monotonic()
        self._progress.start()

    def updated(self, state: TrainingState, loss: float, rate: float, updates: int) -> None:
        self._recent.append((state.target_tokens, state.seconds, loss))
        text = self._line(state, updates)
        if self.console.is_terminal:
            if self._task is None:
                self._task = self._progress.add_task("training", total=updates, text="")
            self._progress.update(self._task, completed=state.update, text=text)
        elif time.monotonic() - self._last_line >= PLAIN_EVERY:
            self._last_line = time.monotonic()
            self.say(text)

    def _line(self, state: TrainingState, updates: int) -> str:
        """step, tokens/s, loss, time left: speed and loss over the last updates, time left at the pace since the start,
        or since it was resumed."""
        tokens, seconds, _ = self._recent[0]
        loss = sum(item[2] for item in self._recent) / len(self._recent)
        elapsed = state.seconds - seconds
        speed = f"{(state.target_tokens - tokens) / elapsed:,.0f} tokens/s" if elapsed > 0 else "… tokens/s"
        if self._since is None:
            self._since = state.update, state.seconds
        made, took = state.update - self._since[0], state.seconds - self._since[1]
        left = f"{clock((updates - state.update) * took / made)} left" if made else "…"
        return f"step {state.update:,}/{updates:,}  {speed}  loss {loss:.3f}  {left}"

    def validated(self, state: TrainingState, validation: Validation, improved: bool) -> None:
        self.validations.append((state.update, validation))
        parts = [f"update {state.update:,}: validation loss {validation.loss:.3f}"]
        if validation.bleu is not None and validation.chrf is not None:
            parts.append(f"BLEU {validation.bleu:.1f}  chrF {validation.chrf:.1f}")
        elif validation.accuracy is not None:
            parts.append(f"perplexity {validation.perplexity:.2f}  accuracy {validation.accuracy:.1f} %")
        for probe, found in zip(self.probes, validation.probes, strict=True):
            values = "  ".join(f"P({word}) {p:.3f}" for word, p in found.items())
            parts.append(f"after “{probe.prefix}”: {values}")
        self.say("  ".join(parts) + ("  (best)" if improved else ""))
        if validation.source_gain is not None and state.update >= self.warmup and validation.source_gain < LEAST_GAIN:
            self.say(
                f"warning: its own source is worth {validation.source_gain:+.3f} nats a token more to a sentence than "
                "another's: the model makes no use of what it reads. Are source and target aligned, line for line?"
            )

    def saved(self, state: TrainingState, snapshot: Snapshot) -> None:
        if not state.regular:
            self.say(f"saved {snapshot.folder}")
