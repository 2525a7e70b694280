"""How much memory there is to take, as the kernel says it."""

from __future__ import annotations

import mmap
import resource
from pathlib import Path

import numpy as np
import pytest

from transduce.training import room
from transduce.training.room import Room, forget_most, most_resident, own_room, resident, shared_room

FIRST = {"memory.max": "1000", "memory.current": "700", "memory.stat": "anon 600\nactive_file 30\ninactive_file 50\n"}
SECOND = {
    "memory.limit_in_bytes": "1000",
    "memory.usage_in_bytes": "700",
    "memory.stat": "inactive_file 7\ntotal_inactive_file 50\n",
}


def machine(folder: Path, group: str, files: dict[str, dict[str, str]], kilobytes: int = 5) -> Room:
    """What is left on a machine that has so much free and this process in this control group."""
    (folder / "proc/self").mkdir(parents=True)
    (folder / "proc/meminfo").write_text(f"MemTotal: 9000 kB\nMemFree: 2 kB\nMemAvailable:  {kilobytes} kB\n")
    (folder / "proc/self/cgroup").write_text(group)
    for name, content in files.items():
        (folder / "groups" / name).mkdir(parents=True, exist_ok=True)
        for file, text in content.items():
            (folder / "groups" / name / file).write_text(text + "\n")
    return shared_room(folder / "proc", folder / "groups")


@pytest.mark.parametrize(
    ("group", "files"),
    [
        ("0::/one/two", {"one/two": FIRST}),
        ("0::/one/two", {"one": FIRST, "one/two": FIRST | {"memory.max": "max"}}),
        ("0::/one/two", {"one": FIRST | {"memory.max": "1001"}, "one/two": FIRST}),
        ("0::/", {".": FIRST}),
        ("0::/a/place/outside/the/container", {".": FIRST}),
        ("12:cpu,memory:/one\n3:pids:/two\n0::/", {"memory/one": SECOND, "pids/two": FIRST, ".": {}}),
        ("5:memory:/docker/0123", {"memory": SECOND}),
    ],
)
def test_what_a_control_group_leaves(tmp_path: Path, group: str, files: dict[str, dict[str, str]]) -> None:
    """1,000 bytes but for 700, of which 50 can be dropped."""
    found = machine(tmp_path, group, files)
    assert found.size == 350
    assert found.bound.startswith("the limit of the control group (memory.")


def test_what_is_free_on_the_machine_bounds_too(tmp_path: Path) -> None:
    files = {".": FIRST | {"memory.max": "9000"}}
    assert machine(tmp_path, "0::/", files) == Room(5 * 1024, "what is free on this machine")


def test_without_the_figures_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="meminfo"):
        shared_room(tmp_path, tmp_path)


def test_limits_of_the_process_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/status").write_text("VmPeak: 9 kB\nVmSize:    7 kB\nVmRSS: 3 kB\nVmData:   2 kB\n")
    monkeypatch.setattr(room, "PROC", tmp_path)
    limits = {resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_DATA: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits[which], resource.RLIM_INFINITY))
    assert own_room() is None
    limits[resource.RLIMIT_AS] = 11 * 1024
    assert own_room() == Room(4 * 1024, "the limit of this process (ulimit -v)")
    limits[resource.RLIMIT_DATA] = 5 * 1024
    assert own_room() == Room(3 * 1024, "the limit of this process (ulimit -d)")


def test_the_most_that_was_held_is_seen_after_it_was_freed() -> None:
    forget_most()
    before = resident()
    # Mapped, since malloc may have as much that an earlier test freed.
    with mmap.mmap(-1, 64 << 20) as block:
        np.frombuffer(block, np.uint8).fill(1)
    assert most_resident() - before > 60 << 20
