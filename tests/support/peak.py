"""How much memory a process has taken at most."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path


def peak() -> int:
    """Bytes, of this process. On Linux `ru_maxrss` counts the parent too, whose memory it shared when it was new."""
    if sys.platform == "linux":
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
        assert found is not None
        return 1024 * int(found.group(1))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
