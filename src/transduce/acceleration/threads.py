"""Let idle threads sleep: a thread that spins at a barrier keeps the one it waits for off its core.

OpenMP's threads wait by spinning. Where anything else runs on the machine, each product then takes as
long as the scheduler needs to notice: measured on two cores beside one busy process, a training step of
the demo took 980 ms spinning and 300 ms sleeping. Results don't change. Its plain twin is doing nothing.
"""

from __future__ import annotations

import os


def wait_passively() -> None:
    """Ask OpenMP to wait by sleeping, unless the user's environment says how. Before torch is imported."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
