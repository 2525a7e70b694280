"""The training loop (paper 5)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transduce.acceleration.allocator import return_freed_memory
from transduce.data.batching import Sampler, Update
from transduce.data.store import Store
from transduce.devices import Compute
from transduce.errors import RunError, TrainingError
from transduce.experiment import Experiment
from transduce.models.contract import Model
from transduce.run_folder import RunFolder, Snapshot, load_weights, write_snapshot
from transduce.tasks import Task
from transduce.training.distributed import World
from transduce.training.flops import flops_per_token, padded_tokens
from transduce.training.interruption import Interruption, catch_signals
from transduce.training.journal import Journal
from transduce.training.memory import out_of_memory_told
from transduce.training.optimizer import Adam
from transduce.training.schedule import learning_rate
from transduce.training.state import TrainingState
from transduce.training.validation import Validation, Validator

LARGE = 1 << 20
"""Examples from which on memory that they take for a while is worth giving back."""
RELEASED = 4
"""Updates after which what was mapped of the text is let go."""
TRIMMED = 16
"""Updates after which freed memory is given back: batches of other shapes leave other holes in it, which add up (30 MB
a process in a hundred updates of a model of 8 million parameters). Taking it again costs 0.7 % of the time."""


class Listener:
    """Who wants to hear how training goes: a terminal, a test. This one hears and does nothing."""

    def updated(self, state: TrainingState, loss: float, rate: float, updates: int) -> None:
        """After each update: smoothed loss per target token, learning rate, updates in the whole run."""

    def validated(self, state: TrainingState, validation: Validation, improved: bool) -> None:
        """After each validation."""

    def saved(self, state: TrainingState, snapshot: Snapshot) -> None:
        """After each checkpoint."""


class Trainer:
    """Trains a model and keeps its run folder. `state` says where it stands."""

    def __init__(
        self,
        model: Model,
        task: Task[Any],
        store: Store,
        validator: Validator,
        run: RunFolder,
        experiment: Experiment,
        compute: Compute,
        world: World,
        listener: Listener,
    ) -> None:
        self.model, self.task, self.store, self.validator = model.to(compute.device), task, store, validator
        self.run, self.experiment, self.compute, self.world, self.listener = run, experiment, compute, world, listener
        self.config = experiment.training
        self.state = TrainingState()
        self.optimizer = Adam(model, self.config) if world.leads else None
        self.journal = Journal(run.journal, tensorboard=self.config.tensorboard and world.leads)
        self.sampler = Sampler(
            {name: store.lengths(name) for name in task.streams},
            weights=store.weights([corpus.weight for corpus in experiment.data.train]),
            batch_tokens=self.config.batch_tokens,
            accumulate=self.config.accumulate,
            seed=self.config.seed,
        )
        self._unread: list[tuple[Update, Tensor]] = []

    def begin(self) -> None:
        """Begin the journal, anew where a killed process had begun it."""
        self.journal.cut(0)
        if self.config.memory == "fit":
            self.journal.write("memory", update=0, batch_tokens=self.config.batch_tokens,
                               accumulate=self.config.accumulate)  # fmt: skip

    def resume(self, snapshot: Snapshot) -> str:
        """Go on from a checkpoint: weights, optimizer, position and journal as they were.

        Returns what the user should know: that a part of the journal is missing, or nothing.
        """
        self.state = TrainingState.from_json(snapshot.state(), str(snapshot.folder))
        load_weights(self.model, snapshot)
        if self.optimizer is None:
            return ""
        self.optimizer.load(snapshot.tensors("optimizer"), str(snapshot.folder))
        missing = self.journal.cut(self.state.journal_bytes)
        # The killed process may have saved this one and not got round to it.
        self._drop_old(snapshot)
        gap = f"{self.journal.path}: {missing:,} bytes are missing that were there at the checkpoint"
        return f"{gap}; training goes on as it would have, and the curve has a gap" if missing else ""

    def train(self) -> Interruption:
        """Update until the experiment says stop, or a signal does."""
        self.model.train()
        self.state.finished = self._reason_to_stop()
        updates = self._updates()
        with catch_signals() as interruption:
            interrupted = False
            while not self.state.finished and not interrupted:
                interrupted = self._advance(next(updates), interruption)
        return interruption

    def _updates(self) -> Iterator[Update]:
        planned = -1
        try:
            for update in self.sampler.updates(self.state.epoch, self.state.index):
                if len(self.store) >= LARGE:
                    if update.epoch != planned:
                        return_freed_memory()  # planning an epoch takes some 60 bytes an example for a moment
                    if update.index % RELEASED == 0:
                        self.store.release()
                if self.state.update % TRIMMED == 0:
                    return_freed_memory()
                planned = update.epoch
                yield update
        except RunError as error:
            raise RunError(f"{self.run.path}: {error}") from None

    def _advance(self, update: Update, interruption: Interruption) -> bool:
        """One update, and the validation and save that are due after it. Returns whether a signal ends the run.

        The signal is looked at once: one that comes later than that must not end the run unsaved.
        """
        state, config = self.state, self.config
        started = time.perf_counter()
        loss = self._update(update)
        self._read_losses(update, loss)
        state.seconds += time.perf_counter() - started
        started = time.perf_counter()
        # What time and signals say can differ between processes, and only the leading one knows of patience.
        state.finished = self._reason_to_stop()
        stopped, interrupted = self.world.agree([bool(state.finished), bool(interruption.signal)])
        if stopped or state.update % config.validate_every == 0:
            self._validate()
            state.finished = state.finished or self._reason_to_stop()
            (stopped,) = self.world.agree([stopped or bool(state.finished)], patient=True)
        if stopped:
            state.finished = state.finished or "another process ended it"
        state.regular = state.update % config.save_every == 0 or stopped
        state.seconds += time.perf_counter() - started
        if state.regular or interrupted:
            self._save()
        return interrupted

    def _update(self, update: Update) -> Tensor:
        """Add up the gradients of the update's batches and step once. Returns its loss per target token."""
        state, config, device = self.state, self.config, self.compute.device
        examples = np.concatenate(update.micro_batches)
        read, tokens = self.task.tokens(self.store, examples)
        loss = torch.zeros((), device=device)
        rank, size = self.world.rank, self.world.size
        for i, micro_batch in zip(count(rank, size), update.share(rank, size), strict=False):
            with out_of_memory_told(self.store, micro_batch, self.experiment):
                loss += self._pass(micro_batch, i, tokens)
        self.world.sum_gradients(self.model)
        loss = self.world.sum(loss)
        if device.type == "cpu":
            self._refuse_nonfinite(update, float(loss))
        if self.optimizer is not None:
            if config.clip_norm:
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip_norm)
            self.optimizer.step(learning_rate(state.update + 1, self.model.d_model, config))
        self.world.spread_weights(self.model)
        self._count(update, read, tokens)
        return loss

    def _pass(self, micro_batch: np.ndarray, number: int, tokens: int) -> Tensor:
        """Forward and backward of an update's micro-batch; its part of the loss per target token."""
        state, config = self.state, self.config
        seed = _seed(config.seed, state.update, number)
        batch = self.task.collate(self.store, micro_batch, seed).to(self.compute.device)
        if not state.flops_per_token:
            # Of one row: the plain equations that are counted take more memory than training does.
            row = self.task.collate(self.store, micro_batch[:1]).to(self.compute.device)
            state.flops_per_token = flops_per_token(self.model, self.task, row)
        state.flops += state.flops_per_token * padded_tokens(batch) * self.world.size
        torch.manual_seed(seed)
        with self.compute.autocast():
            # Divided by the tokens of the whole update: the mean over tokens, however they were batched.
            part = self.task.loss(self.model, batch, config.label_smoothing) / tokens
        part.backward()
        return part.detach()

    def _count(self, update: Update, read: int, tokens: int) -> None:
        state = self.state
        state.update += 1
        state.epoch, state.index = (update.epoch + 1, 0) if update.last else (update.epoch, update.index + 1)
        state.source_tokens += read
        state.target_tokens += tokens

    def _read_losses(self, update: Update, loss: Tensor) -> None:
        """Read losses only every so often: reading one waits for the device to finish its queue."""
        state, config = self.state, self.config
        self._unread.append((update, loss))
        due = state.update % config.log_every == 0 or state.update % config.save_every == 0
        if not due and self.compute.device.type != "cpu":
            return
        for past, value in self._unread:
            self._refuse_nonfinite(past, float(value))
        self._unread.clear()
        rate = learning_rate(state.update, self.model.d_model, config)
        if not self.world.leads:
            return
        self.listener.updated(state, float(loss), rate, self.updates_in_all)
        if state.update % config.log_every == 0:
            self.journal.write("update", update=state.update, epoch=state.epoch, loss=float(loss), rate=rate,
                               target_tokens=state.target_tokens, seconds=round(state.seconds, 3))  # fmt: skip

    def _refuse_nonfinite(self, update: Update, loss: float) -> None:
        if math.isfinite(loss):
            return
        lines = self.store.origin(np.concatenate(update.micro_batches), self.experiment.data.train_names)
        raise self._diverged(
            f"the loss is {loss} in epoch {update.epoch + 1}, update {update.index + 1} of it ({lines})"
        )

    def _diverged(self, what: str) -> TrainingError:
        last = self.run.newest_whole()
        return TrainingError(
            f"{what}; the last good checkpoint is {last.folder if last else 'none yet'}. "
            "A lower training.learning_rate, a longer training.warmup or training.clip_norm = 1.0 helps most often"
        )

    def _validate(self) -> None:
        state, config = self.state, self.config
        if not self.world.leads:
            return
        started = time.perf_counter()
        with self.compute.alone():
            validation = self.validator(self.model)
        if not math.isfinite(validation.loss):
            raise self._diverged(f"the validation loss is {validation.loss} at update {state.update}")
        improved = state.judge(validation.goodness(config.best_by), config.min_change)
        if improved:
            write_snapshot(self.run.path / "best", {"weights": self._weights()}, {"update": state.update})
        self.journal.write("validation", update=state.update, epoch=state.epoch, best=improved,
                           target_tokens=state.target_tokens, seconds=round(state.seconds, 3),
                           took=round(time.perf_counter() - started, 3), **validation.to_json())  # fmt: skip
        self.listener.validated(state, validation, improved)

    def _save(self) -> None:
        if self.optimizer is None:
            return
        # The loss of an update says nothing about the weights after it.
        if not all(bool(parameter.isfinite().all()) for parameter in self.model.parameters()):
            raise self._diverged(f"a weight is no longer finite at update {self.state.update}")
        self.state.journal_bytes = self.journal.synced()
        return_freed_memory()  # what is written exists twice for a moment
        tensors = {"weights": self._weights(), "optimizer": self.optimizer.tensors()}
        snapshot = self.run.save_checkpoint(self.state.update, tensors, self.state.to_json())
        self.listener.saved(self.state, snapshot)
        self._drop_old(snapshot)

    def _drop_old(self, newest: Snapshot) -> None:
        """Keep the newest checkpoint, and as many regular ones as enter the average."""
        kept = 0
        for old in reversed(self.run.checkpoints()):
            regular = bool(old.state()["regular"])
            kept += regular
            if old.folder != newest.folder and (not regular or kept > self.config.average):
                self.run.drop_checkpoint(old)

    def _weights(self) -> dict[str, Tensor]:
        return dict(self.model.named_parameters())

    def _reason_to_stop(self) -> str:
        state, config = self.state, self.config
        if state.update >= config.max_updates:
            return f"{config.max_updates} updates were made (training.max_updates)"
        if config.max_epochs and state.epoch >= config.max_epochs:
            return f"{config.max_epochs} epochs were read (training.max_epochs)"
        if config.max_minutes and state.seconds >= 60 * config.max_minutes:
            return f"{config.max_minutes} minutes have passed (training.max_minutes)"
        if config.patience and state.stale >= config.patience:
            return f"{state.stale} validations in a row brought nothing better (training.patience)"
        return ""

    @cached_property
    def updates_in_all(self) -> int:
        """Updates of the whole run, unless time or patience ends it before."""
        if not self.config.max_epochs:
            return self.config.max_updates
        return min(self.config.max_updates, self.config.max_epochs * len(self.sampler.epoch_plan(0)))


def _seed(*parts: int) -> int:
    """One 63-bit seed from several numbers, well mixed."""
    state: Any = np.random.SeedSequence(parts).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))
