"""How much more memory a process may take on a CPU, and how much it took (Linux).

There too much memory is no error that could be caught: the system kills the process. So it has to be known before.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")

_FIRST, _SECOND = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Files of a control group (version 2, version 1): its limit, what it holds, and in memory.stat the pages of files
among that which can be dropped."""


@dataclass(frozen=True, slots=True, order=True)
class Room:
    """Bytes that may still be taken, and what bounds them, in words."""

    size: int
    bound: str


def shared_room(proc: Path = PROC, groups: Path = GROUPS) -> Room:
    """What the machine and the control groups of this process have left, for all of their processes together.

    Raises OSError where there is no such thing to read.
    """
    rooms = [Room(_field(proc / "meminfo", "MemAvailable:") << 10, "what is free on this machine")]
    for line in (proc / "self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            rooms += _of_groups(groups, path, _FIRST)
        elif "memory" in controllers.split(","):
            rooms += _of_groups(groups / "memory", path, _SECOND)
    return min(rooms)


def own_room() -> Room | None:
    """What the limits of this process alone (ulimit -v and -d) leave it; None without such limits."""
    rooms = []
    for limit, field, name in ((resource.RLIMIT_AS, "VmSize:", "-v"), (resource.RLIMIT_DATA, "VmData:", "-d")):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY:
            held = _field(PROC / "self/status", field) << 10
            rooms.append(Room(most - held, f"the limit of this process (ulimit {name})"))
    return min(rooms, default=None)


def resident() -> int:
    """Bytes of memory that this process holds."""
    return _field(PROC / "self/status", "VmRSS:") << 10


def most_resident() -> int:
    """The most that it has held since `forget_most`; where the kernel can't forget, since it began: never less."""
    return _field(PROC / "self/status", "VmHWM:") << 10


def forget_most() -> None:
    with suppress(OSError):
        (PROC / "self/clear_refs").write_text("5", encoding="utf-8")


def _of_groups(root: Path, path: str, files: tuple[str, str, str]) -> Iterator[Room]:
    """The group and those above it. Inside a container its own is the root, whatever the path says."""
    limit, held, droppable = files
    group = root / path.lstrip("/")
    for folder in [group, *group.parents]:
        with suppress(OSError, ValueError):  # the root has no files; "max" is no number
            most = int((folder / limit).read_text(encoding="utf-8"))
            free = most - int((folder / held).read_text(encoding="utf-8")) + _field(folder / "memory.stat", droppable)
            yield Room(free, f"the limit of the control group ({limit})")
        if folder == root:
            return


def _field(path: Path, name: str) -> int:
    """The number after a name in a file of names and numbers; 0 where it has no such name."""
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words and words[0] == name:
            return int(words[1])
    return 0
