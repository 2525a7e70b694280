"""Whose an interrupt is, where several processes work for one command."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from transduce.signals import interrupts_are_ours


def ends_by_an_interrupt() -> bool:
    """Whether a process that is started now does, when it sends one to itself."""
    script = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    return subprocess.run([sys.executable, "-c", script], stderr=subprocess.DEVNULL, check=False).returncode != 0


def test_only_who_starts_the_others_is_interrupted() -> None:
    with interrupts_are_ours():
        assert not ends_by_an_interrupt()
    assert ends_by_an_interrupt()


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt):
        with interrupts_are_ours():
            signal.raise_signal(signal.SIGINT)
            reached = True
        pytest.fail("it was lost")
    assert reached
