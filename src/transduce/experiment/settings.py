"""What decides a run: every setting, with its unit and default."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from transduce.config import Config
from transduce.data.corpus import CorpusConfig
from transduce.data.filters import FilterConfig
from transduce.devices import ComputeConfig
from transduce.evaluation.scores import ScoringConfig
from transduce.experiment.presets import PresetName, fill_in
from transduce.models import DEFAULT, ModelConfig, kinds_with
from transduce.search.config import WIDEST_BEAM, DecodingConfig
from transduce.tasks import TASKS, TaskName
from transduce.text.tokenizer import TokenizerConfig


class DataConfig(Config):
    """The text of a run. Paths in a file are relative to that file."""

    train: tuple[CorpusConfig, ...] = Field(min_length=1)
    """Corpora to learn from, each with a weight."""
    valid: CorpusConfig
    """Held-out pairs that decide which checkpoint is best and when to stop."""
    test: dict[str, CorpusConfig] = Field(default_factory=dict)
    """Test sets by name, scored when training ends. The model never sees them before."""
    filters: FilterConfig = FilterConfig()
    """Which pairs of `train` are left out, and when that is too many."""

    @property
    def train_names(self) -> list[str]:
        """What reports call the corpora of `train`."""
        return [corpus.name for corpus in self.train]


class TrainingConfig(Config):
    """How weights are learned; the defaults are the paper's base recipe (5.1 to 5.4)."""

    seed: int = Field(1, ge=0)
    """Of the first weights, the order of the data and dropout. The same seed gives the same run."""
    batch_tokens: int = Field(4096, ge=1)
    """Padded tokens that one forward pass holds, on either side: what memory bounds. The sentences of a pass are
    of like length, so let an update add up several passes, or it learns from one length at a time."""
    update_tokens: int = Field(25000, ge=1)
    """Tokens on either side that one update learns from (5.1), reached by adding up several passes."""
    memory: Literal["stop", "fit"] = "stop"
    """What to do when a pass does not fit into memory: stop and name the batch, or `fit`: before training find by
    trial the largest `batch_tokens` that fits, up to the one given; `update_tokens` stays."""
    max_updates: int = Field(100_000, ge=1)
    """Updates after which training ends (5.2)."""
    max_epochs: int = Field(0, ge=0)
    """Passes over the training text after which training ends, if that comes first; 0 = any number."""
    max_minutes: float = Field(0.0, ge=0)
    """Minutes after which training ends; 0 = any. A run that this ends cannot be repeated to the letter."""
    warmup: int = Field(4000, ge=1)
    """Updates over which the learning rate rises (5.3)."""
    learning_rate: float = Field(0.0, ge=0)
    """Peak learning rate; 0 = the paper's formula decides: d_model^-0.5 · warmup^-0.5."""
    decay: Literal["inverse_sqrt", "linear"] = "inverse_sqrt"
    """After warm-up: by 1/√step (5.3), or straight to zero at `max_updates`."""
    adam_beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of Adam's mean of gradients (5.3)."""
    adam_beta2: float = Field(0.98, ge=0, lt=1)
    """Decay of Adam's mean of squared gradients (5.3)."""
    adam_epsilon: float = Field(1e-9, gt=0)
    """Added to Adam's denominator (5.3)."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """ε_ls: share of the target's probability that is spread over the vocabulary (5.4)."""
    clip_norm: float = Field(0.0, ge=0)
    """Longest gradient (L2 norm of all of them together); 0 = no clipping, as in the paper."""
    validate_every: int = Field(1000, ge=1)
    """Updates between validations."""
    save_every: int = Field(1000, ge=1)
    """Updates between checkpoints. Saved by updates, not minutes, so that a run can be repeated."""
    average: int = Field(5, ge=1)
    """The last checkpoints that are kept, and whose mean is evaluated in the end (6.1: 5 base, 20 big)."""
    patience: int = Field(0, ge=0)
    """Validations in a row without an improvement after which training ends; 0 = never."""
    best_by: Literal["loss", "bleu", "chrf"] = "loss"
    """What improvement means, for `best/` and for patience."""
    min_change: float = Field(0.0, ge=0)
    """An improvement must be larger than this. At 0 an equal score is none."""
    log_every: int = Field(50, ge=1)
    """Updates between lines of the journal."""
    tensorboard: bool = False
    """Also write the journal's numbers as TensorBoard events (needs the extra `tensorboard`)."""

    @property
    def accumulate(self) -> int:
        """Passes that are added up to one update."""
        return max(1, round(self.update_tokens / self.batch_tokens))


class ProbeConfig(Config):
    """A place in a sentence whose next-word probabilities are followed during training (article 2.9)."""

    source: str
    """The sentence to translate."""
    prefix: str
    """The translation up to the place in question."""
    words: tuple[str, ...]
    """The words whose probabilities are reported."""


class ValidationConfig(Config):
    """What is measured at each validation besides the loss."""

    sentences: int = Field(500, ge=0)
    """How many validation sentences are translated for BLEU and chrF; 0 = none."""
    beam: int = Field(1, ge=1, le=WIDEST_BEAM)
    """Beam of that translation; 1 (greedy) is quick."""
    probes: tuple[ProbeConfig, ...] = ()
    """Next-word probabilities to follow."""


class Experiment(Config):
    """Everything that decides a run. Made by `load`, written to the run folder, never changed."""

    name: str = "experiment"
    """Names the run folder unless `--run` does."""
    source_language: str = ""
    """Code of the source language (BCP 47, such as zh or pt-BR); free for other sequences."""
    target_language: str = ""
    """Code of the target language; decides how BLEU splits words."""
    preset: PresetName = "base"
    """Sizes and recipe for what is left out here; `load` chooses by the number of training pairs unless given."""
    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = DEFAULT()
    """What learns: one of the models below, which `kind` tells apart; the Transformer unless given."""
    task: TaskName = None  # type: ignore[assignment]  # the validator below puts a name in its place
    """What is learned: a target of any length for a source (`translate`), one target token for each source token
    (`label`), one label for a whole source (`classify`), what stands at blanks of a text (`mask`), how a text goes on
    (`generate`), or the answer to a question that ends a story (`answer`). Unless given, the first of translate, mask,
    label, generate and answer that the model can do."""
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()
    decoding: DecodingConfig = DecodingConfig()
    scoring: ScoringConfig = ScoringConfig()
    compute: ComputeConfig = ComputeConfig()
    initial: Path | None = None
    """Run folder that this run goes on from: its weights, as far as the model has them, and its tokenizer of the
    source, with the same task and languages that of the target too; its sizes of the model are the defaults. A
    projection to another vocabulary starts afresh."""
    source_vectors: Path | None = None
    """Word vectors (word2vec text format) that the source embedding starts from (article 1.2)."""
    target_vectors: Path | None = None
    """The same for the target embedding."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_preset(cls, values: Any) -> Any:
        return fill_in(values.get("preset", "base"), values) if isinstance(values, dict) else values

    @field_validator("name")
    @classmethod
    def _name_is_a_folder(cls, name: str) -> str:
        if name in ("", ".", "..") or "/" in name or "\0" in name or len(name) > 60:
            raise ValueError("expected the name of a folder: at most 60 characters, without slashes")
        return name

    @field_validator("task", mode="before")
    @classmethod
    def _task_is_what_the_model_can_do(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None:
            return value
        # A model that is no model has its own error.
        capabilities = info.data["model"].capabilities if "model" in info.data else {"encoder-decoder"}
        return next(name for name, task in TASKS.items() if task.needs in capabilities)

    @model_validator(mode="after")
    def _model_can_do_the_task(self) -> Experiment:
        if TASKS[self.task].needs not in self.model.capabilities:
            able = '" or "'.join(kinds_with(TASKS[self.task].needs))
            raise ValueError(
                f'model.kind = "{self.model.kind}" can\'t do task = "{self.task}": set model.kind to "{able}", or '
                "leave `task` out for what the model can do"
            )
        return self

    @model_validator(mode="after")
    def _task_has_what_it_needs(self) -> Experiment:
        task = TASKS[self.task]
        for place, needed in task.requires.items():
            table, key = place.split(".")
            if (value := getattr(getattr(self, table), key)) != needed:
                raise ValueError(f'task = "{task.name}" needs {place} = {needed!r}, not {value!r}: leave it out')
        if "source" in task.streams:
            for corpus in (*self.data.train, self.data.valid, *self.data.test.values()):
                if not corpus.has_pairs:
                    raise ValueError(f'task = "{task.name}" learns from pairs, and {corpus.name} has only texts')
        if self.validation.probes and not task.metrics:
            raise ValueError(f'validation.probes follow words of a target, which task = "{task.name}" does not write')
        return self

    @model_validator(mode="after")
    def _decoding_has_an_effect(self) -> Experiment:
        task = TASKS[self.task]
        task.check(self.decoding)
        if self.validation.beam != 1 and "beam" not in task.decoding:
            raise ValueError(
                f'validation.beam = {self.validation.beam} has no effect on the task "{task.name}", whose output comes '
                f"of {task.describe(self.decoding)}: leave it out"
            )
        return self

    @model_validator(mode="after")
    def _budgets_agree(self) -> Experiment:
        if self.data.filters.max_length + 1 > self.training.batch_tokens:
            raise ValueError(
                f"data.filters.max_length = {self.data.filters.max_length} tokens and an end mark don't fit into "
                f"training.batch_tokens = {self.training.batch_tokens}: lower the one or raise the other"
            )
        return self

    @model_validator(mode="after")
    def _positions_suffice(self) -> Experiment:
        most, marks = self.data.filters.max_length, TASKS[self.task].marks
        if self.model.longest is not None and most + marks > self.model.longest:
            raise ValueError(
                f"model.max_positions = {self.model.longest} positions don't hold data.filters.max_length = {most} "
                f"tokens{' and an end mark' if marks else ''}: raise the one or lower the other"
            )
        return self

    @model_validator(mode="after")
    def _best_is_measured(self) -> Experiment:
        if self.training.best_by != "loss" and not self.validation.sentences:
            raise ValueError(
                f'training.best_by = "{self.training.best_by}" needs translations: set validation.sentences above 0'
            )
        return self

    @model_validator(mode="after")
    def _ties_agree(self) -> Experiment:
        if self.model.needs_joint_vocabulary and not self.tokenizer.joint:
            raise ValueError(
                'model.tie = "all" shares one matrix between both languages and needs tokenizer.joint = true; '
                'for two vocabularies set model.tie = "target" or "none"'
            )
        return self

    @model_validator(mode="after")
    def _copies_are_found(self) -> Experiment:
        if self.decoding.unknown == "copy" and "cross-attention" not in self.model.capabilities:
            raise ValueError(
                f'decoding.unknown = "copy" needs a model that attends to the source, and "{self.model.kind}" does '
                'not: set "avoid" or "mark", or another model.kind'
            )
        return self
