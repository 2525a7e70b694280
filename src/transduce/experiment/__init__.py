"""Experiments: the settings of a run, their presets, and how they are read and written."""

from transduce.experiment.settings import (
    DataConfig,
    Experiment,
    ProbeConfig,
    TrainingConfig,
    ValidationConfig,
)

__all__ = ["DataConfig", "Experiment", "ProbeConfig", "TrainingConfig", "ValidationConfig"]
