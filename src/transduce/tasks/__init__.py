"""The tasks, each one file, by the names that an experiment gives them."""

from collections.abc import Mapping
from typing import Any, Literal

from transduce.tasks.answer import Answer
from transduce.tasks.classify import Classify
from transduce.tasks.generate import Generate
from transduce.tasks.label import Label
from transduce.tasks.mask import Mask
from transduce.tasks.task import Cost, Task
from transduce.tasks.translate import Translate

TaskName = Literal["translate", "mask", "label", "classify", "generate", "answer"]

TASKS: Mapping[str, Task[Any]] = {
    task.name: task for task in (Translate(), Mask(), Label(), Classify(), Generate(), Answer())
}
"""A model does the first of those that it can, unless the experiment names another."""

__all__ = ["TASKS", "Answer", "Classify", "Cost", "Generate", "Label", "Mask", "Task", "TaskName", "Translate"]
