"""Arrays in JSON: short, and exact to the last bit, infinities included."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def packed(array: np.ndarray) -> dict[str, Any]:
    """{"shape", "data"}: little-endian float32 in base64, in row-major order."""
    data = np.ascontiguousarray(array, dtype="<f4").tobytes()
    return {"shape": list(array.shape), "data": base64.b64encode(data).decode()}


def unpacked(pack: dict[str, Any]) -> np.ndarray:
    """The array of `packed`."""
    return np.frombuffer(base64.b64decode(pack["data"]), "<f4").reshape(pack["shape"])
