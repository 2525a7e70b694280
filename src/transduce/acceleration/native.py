"""Native code: the C files of this folder, built as one library where a C compiler is present.

It is built when it is first needed (a few seconds) and kept in the user's cache. Without a compiler everything that it
does is done by PyTorch.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

_SOURCES = tuple(
    Path(__file__).with_name(f"{name}.c")
    for name in ("int8", "float32", "products", "attention", "cross_entropy", "dropout", "choice", "transformer")
)
_HEADER = Path(__file__).with_name("native.h")
_FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")


@cache
def load() -> ctypes.CDLL | None:
    """The built code, from the user's cache or built now; None where that cannot be done."""
    compiler = (
        shlex.split(os.environ.get("CC", "")) or [name for name in ("cc", "gcc", "clang") if shutil.which(name)][:1]
    )
    if not compiler or platform.system() == "Windows":
        return None
    try:
        return _declared(ctypes.CDLL(str(_build(compiler))))
    except (OSError, subprocess.SubprocessError):
        return None


def load_for(x: Tensor) -> ctypes.CDLL | None:
    """The built code, if it can take this tensor: float32 that lies in one piece on the CPU."""
    fits = x.device.type == "cpu" and x.dtype == torch.float32 and x.is_contiguous()
    return load() if fits else None


def instructions() -> str:
    """What the built code is made of, in words ("AVX2"); empty where there is none."""
    library = load()
    return "" if library is None else str(library.float32_path().decode())


def _build(compiler: list[str]) -> Path:
    """Another source, compiler or processor makes another file, so that a cache can be shared by machines."""
    parts = (*(path.read_bytes() for path in (_HEADER, *_SOURCES)), " ".join([*compiler, *_FLAGS]).encode())
    name = f"native-{hashlib.sha256(b'|'.join([*parts, _processor()])).hexdigest()[:16]}.so"
    folder = _cache()
    built = folder / name
    if not built.exists():
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            made = Path(aside) / name
            command = [*compiler, *_FLAGS, "-o", str(made), *map(str, _SOURCES), "-lm"]
            subprocess.run(command, check=True, capture_output=True, timeout=120)
            made.replace(built)
    return built


def _cache() -> Path:
    """A folder that nobody else can write to: what lies in it is run."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "transduce"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o022:
        raise PermissionError(f"{folder} belongs to somebody else or can be written to by others")
    return folder


def _processor() -> bytes:
    """What the compiler's `native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().split(b"\n")
    except OSError:
        return platform.processor().encode()
    return next((line for line in lines if line.startswith(b"flags")), b"")


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    pointer, whole = ctypes.c_void_p, ctypes.c_int64
    signatures = {
        "int8_path": (ctypes.c_char_p, []),
        "int8_weight_bytes": (whole, [whole, whole]),
        "int8_row_bytes": (whole, [whole]),
        "int8_pack": (None, [pointer, whole, whole, pointer, pointer, pointer]),
        "int8_linear": (None, [pointer, whole, whole, *[pointer] * 4, whole, *[pointer] * 2]),
        "float32_path": (ctypes.c_char_p, []),
        "float32_weight_floats": (whole, [whole, whole]),
        "float32_pack": (None, [pointer, whole, whole, pointer]),
        "float32_linear": (None, [pointer, pointer, whole, pointer]),
        "float32_product": (None, [*[pointer, whole, whole] * 2, pointer, pointer, *[whole] * 6]),
        "attention_forward": (ctypes.c_int, [pointer, whole, whole]),
        "attention_backward": (ctypes.c_int, [pointer, whole, whole]),
        "cross_entropy_rows": (None, [pointer, whole, whole, pointer, whole, ctypes.c_double, pointer]),
        "dropout_forward": (None, [pointer, pointer, whole, ctypes.c_double, pointer, pointer, pointer, whole, whole]),
        "dropout_backward": (None, [pointer, pointer, ctypes.c_double, pointer, whole, whole]),
        "log_softmax_rows": (None, [pointer, whole, whole]),
        "best_of_rows": (None, [pointer, whole, whole, whole, pointer, pointer]),
        "decoder_step": (ctypes.c_int, [pointer, pointer, whole, whole, pointer]),
        "encoder_run": (ctypes.c_int, [pointer, pointer, whole, whole, pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
