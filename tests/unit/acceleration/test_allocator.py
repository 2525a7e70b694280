"""Where glibc puts tensors."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a matter of glibc")

PLACES = """
import torch
from transduce.acceleration.allocator import keep_freed_memory, roomy_empty

assert keep_freed_memory()
rows, columns = 2048, 256
freed, above = roomy_empty(rows, columns), torch.empty(rows, columns)
assert freed.shape == (rows, columns) and freed.is_contiguous()
place = freed.data_ptr()
del freed
print(torch.empty(rows, columns).data_ptr() - place)
"""


def test_an_equal_tensor_gets_the_place_of_one_with_room() -> None:
    """In a process of its own, whose memory nothing else has cut up."""
    said = subprocess.run([sys.executable, "-c", PLACES], capture_output=True, text=True, encoding="utf-8", check=True)
    assert 0 <= int(said.stdout) <= 64
