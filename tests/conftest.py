"""What every test shares: seeds, threads, and shapes checked in signatures."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
from beartype import beartype

# What a shell leaves in the background ignores this signal, and so do its children: some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def check_shapes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enforce the annotations of a function; not of one inside another, which would be prepared on each call."""
    return function if "<locals>" in function.__qualname__ else beartype(function)


# Before anything imports these packages. In use the annotations cost nothing; here they are enforced.
jaxtyping.install_import_hook(["transduce.layers", "transduce.models"], f"{__name__}.check_shapes")

import torch  # noqa: E402


@pytest.fixture(autouse=True)
def _repeatable() -> None:
    """The same random numbers in whatever order tests run, on one thread.

    Tensors in tests are tiny: a second thread saves nothing, and on a busy machine the two wait for
    each other so much that the same test took ten times as long.
    """
    torch.manual_seed(20170612)
    torch.set_num_threads(1)


@contextmanager
def without_shape_checks() -> Iterator[None]:
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """For tests that take thousands of steps: a step of a tiny model is ten times as slow when it is checked."""
    with without_shape_checks():
        yield


@pytest.fixture(scope="session")
def copy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that copies text of `tests.support.copy_run.WORDS`, up to 10 words of it, with a word vocabulary."""
    from tests.support.copy_run import train_copy_run

    with without_shape_checks():
        return train_copy_run(tmp_path_factory.mktemp("copy"))


@pytest.fixture(scope="session")
def byte_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with byte-level BPE, for which no text is unknown."""
    from tests.support.copy_run import train_copy_run

    with without_shape_checks():
        return train_copy_run(
            tmp_path_factory.mktemp("bytes"),
            unknown=0.0,
            tokenizer={"kind": "bpe", "vocabulary": 480, "minimum_count": 1},
            training={"max_updates": 600},
        )
