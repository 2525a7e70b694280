"""What may come in: arbitrary text and bytes; and what may then be said."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st

from tests.end_to_end.test_unicode import ANY, NASTY, NASTY_BYTES
from tests.support.command import Done

Examples = Callable[[int], settings]

TEXT = ANY | NASTY
CONTENT = st.binary(max_size=40) | NASTY_BYTES
TYPED = (TEXT | st.binary(max_size=12).map(os.fsdecode)).map(
    lambda text: os.fsdecode(text.encode("utf-8", "replace").replace(b"\0", b""))
)
"""What a shell can hand over: bytes without NUL, in which Python marks what is not UTF-8 by lone surrogates."""
ODD = st.sampled_from(["", "9" * 5000, "1e999", "0x10", "1_0", "٣", "-0", "--", "true", "[]", "1e-320", "4294967296"])
WHOLE = st.integers().map(str) | ODD
REAL = st.floats().map(str) | ODD
NUMBERS = WHOLE | REAL | TYPED


def told(done: Done) -> bool:
    """Whether a command succeeded; if not, there is a message that a person can read, and that is all."""
    assert done.code in (0, 2), f"exit code {done.code}\n{done.err}"
    assert "Traceback" not in done.err and len(done.err) < 5000, done.err[:5000]
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f]", done.err), f"a cursor moves, a bell rings: {done.err!r}"
    if done.code == 2:
        assert "transduce: " in done.err or "Usage: " in done.err, done.err
    return done.code == 0
