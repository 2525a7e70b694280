"""Files as an enemy, a bad disk or an unlucky hand would leave them: thousands, each from its seed."""

from __future__ import annotations

import json
import pickle
import random
import struct
import tomllib
from collections.abc import Callable
from typing import Any

import tomli_w

Tree = Any
"""What JSON or TOML holds."""

LONG = "x" * 200_000
DEEP = 100_000
_ODD: tuple[Tree, ...] = (
    None, True, False, 0, 1, -1, 7, 255, 2**16, 2**31, -(2**31), 2**53, 2**63, -(2**63), 10**30, 10**300, 0.5, -0.5,
    1e-300, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), "", "x", "0", "3", "nan", LONG, "\0", "a\nb",
    "\x1b[31m", "\ud800", "水", "../../x", "/dev/zero", "/dev/full", [], [None], [[]], [1, "a"],
    {}, {"": 0}, {"a": {"b": []}},
)  # fmt: skip
"""What a field may hold instead of what it should."""
_RAW = {"digits": "9" * 5000, "list": "[" * DEEP, "lists": "[" * DEEP + "]" * DEEP, "nothing": ""}
"""What no library would write: a number of 5,000 digits, brackets that never end."""
_RAW_JSON = {**_RAW, "tables": '{"a":' * DEEP, "exponent": "1e999999", "minus": "-"}
_RAW_TOML = {**_RAW, "tables": "{a=" * DEEP, "keys": "{" + ".".join(["a"] * 3000) + "=1}", "hex": "0x" + "f" * 5000,
             "date": "1979-05-27", "time": "07:32:00", "exponent": "1e999999", "escape": '"\\u0000"'}  # fmt: skip
_MARK = "<raw {}>"


class Payload:
    """What a pickle could do: anything. This one raises, wherever it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return exec, ("raise BaseException('unpickled')",)


def mutant(content: bytes, form: str, seed: str, others: tuple[bytes, ...] = ()) -> bytes:
    """`content` with one to three things wrong. `form`: json, jsonl, toml, safetensors or bytes.

    `others` are the contents of other files, which may stand in its place.
    """
    rng = random.Random(seed)
    parts = {"json": _json, "jsonl": _jsonl, "toml": _toml, "safetensors": _safetensors}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if form in parts and rng.random() < 0.6:
            try:
                content = parts[form](content, rng)
                continue
            except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, struct.error):
                pass  # already too broken for its form
        content = _bytes(content, rng, others)
    return content


def _bytes(content: bytes, rng: random.Random, others: tuple[bytes, ...]) -> bytes:
    """Bits, slices, ends."""
    whole = bytearray(content)
    size = len(whole)
    start = rng.randint(0, size)
    end = min(size, start + rng.choice((1, 2, 3, 7, 8, 31, 1000)))
    match rng.randrange(14):
        case 0 | 1 | 2:
            for _ in range(rng.choice((1, 1, 2, 5)) if size else 0):
                whole[rng.randrange(size)] ^= 1 << rng.randrange(8)
        case 3:
            del whole[start:end]
        case 4:
            whole[start:start] = rng.randbytes(rng.choice((1, 2, 7, 100)))
        case 5:
            whole[start:start] = whole[start:end]
        case 6:
            del whole[start:]
        case 7:
            del whole[int(size * rng.choice((0, 0.1, 0.5, 0.99))) :]
        case 8:
            whole[start:end] = rng.choice((b"\0", b"\xff")) * (end - start)
        case 9:
            whole += rng.choice((b"\0", b"\n", b"}", rng.randbytes(31), b"\n" + bytes(whole)))
        case 10:
            return rng.choice((b"", b"\0", b"\xff\xfe", b"null", b"{}", b"[]", *others, _pickle()))
        case 11:
            whole[start : start + 8] = struct.pack("<q", rng.choice((-1, 2**31, 2**62, -(2**63), 10**12)))
        case 12:
            whole[start : start + 1] = LONG.encode()
        case 13:
            places = [i for i, byte in enumerate(whole) if 0x30 <= byte <= 0x39]
            for at in rng.sample(places, min(len(places), 3)):
                whole[at : at + 1] = rng.choice((b"9", b"-", b"0", b"999999999", b".", b"e99"))
    return bytes(whole)


def _pickle() -> bytes:
    return pickle.dumps(Payload())


def _json(content: bytes, rng: random.Random) -> bytes:
    tree = _change(json.loads(content), rng, tuple(_RAW_JSON))
    return _raw(json.dumps(tree, indent=1), _RAW_JSON).encode()


def _jsonl(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, rng.choice((b"", b"null", b"[]", b'"x"', b"{}", rng.choice(lines))))
        case _:
            lines[at] = _json(lines[at], rng).replace(b"\n", b"")
    return b"\n".join(lines)


def _toml(content: bytes, rng: random.Random) -> bytes:
    tree = _change(tomllib.loads(content.decode()), rng, tuple(_RAW_TOML))
    comments = [line for line in content.decode().split("\n") if line.startswith("#")]
    text = _raw(tomli_w.dumps(_without_none(tree)), _RAW_TOML)
    return (text + "".join(f"{line}\n" for line in comments)).encode("utf-8", "surrogatepass")


def _without_none(tree: Tree) -> Tree:
    if isinstance(tree, dict):
        return {str(key): _without_none(value) for key, value in tree.items() if value is not None}
    return [_without_none(value) for value in tree if value is not None] if isinstance(tree, list) else tree


def _raw(text: str, raw: dict[str, str]) -> str:
    for name, value in raw.items():
        text = text.replace(f'"{_MARK.format(name)}"', value)
    return text


def _places(tree: Tree, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a tree, as the keys that lead to it."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [above, *(place for key, value in items for place in _places(value, (*above, key)))]


def _change(tree: Tree, rng: random.Random, raw: tuple[str, ...]) -> Tree:
    """Another value, a key too many, too few or of another name, at one place."""
    place = rng.choice(_places(tree))
    if not place:
        return rng.choice((*_ODD, tree))
    parent = tree
    for key in place[:-1]:
        parent = parent[key]
    key = place[-1]
    match rng.randrange(10):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[rng.choice(("", "x", key + "x", "\0", "../x", LONG, "水"))] = parent.pop(key)
        case 1 | 2 if isinstance(parent, list):
            parent.insert(key, parent[key])
        case 2:
            parent[rng.choice(("x", "format", "kind", "files"))] = rng.choice(_ODD)
        case 3:
            other = rng.choice([p for p in _places(tree) if p])
            source = tree
            for step in other:
                source = source[step]
            parent[key] = json.loads(json.dumps(source))
        case 4:
            parent[key] = _MARK.format(rng.choice(raw))
        case 5 if isinstance(parent[key], int | float):
            parent[key] = parent[key] * rng.choice((-1, 0, 2, 10, 1000, 10**6, 10**9, 0.5)) + rng.choice((0, 1, -1))
        case 6:
            parent[key] = [parent[key]]
        case 7:
            parent[key] = str(parent[key])
        case _:
            parent[key] = rng.choice(_ODD)
    return tree


_DTYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "U64", "C64",
           "F4", "F8_E8M0", "F6_E2M3", "X99", "", 7)  # fmt: skip
_SHAPES: tuple[Tree, ...] = (
    [],
    [0],
    [1],
    [-1],
    [2**62, 4],
    [2**32, 2**32],
    [0, 2**62],
    [1] * 100,
    [3.5],
    ["3"],
    None,
    [10**30],
)


def _safetensors(content: bytes, rng: random.Random) -> bytes:
    """Sizes, types, places and values of tensors."""
    (size,) = struct.unpack_from("<Q", content)
    header, data = json.loads(content[8 : 8 + size]), bytearray(content[8 + size :])
    names = [name for name in header if name != "__metadata__"]
    name = rng.choice(names)
    begin, end = header[name]["data_offsets"]
    length: int | None = None
    match rng.randrange(10):
        case 0:
            header[name]["dtype"] = rng.choice(_DTYPES)
        case 1:
            header[name]["shape"] = rng.choice((*_SHAPES, header[name]["shape"][::-1], [*header[name]["shape"], 1]))
        case 2:
            header[name]["data_offsets"] = rng.choice(
                ([end, begin], [0, 2**62], [begin, end + 4], [begin - 4, end], [2**63, 2**64], [0, 0], [begin], [-1, 3])
            )
        case 3:
            header[name] = header[rng.choice(names)]
        case 4:
            header[rng.choice((name + "x", "", "\0", LONG, rng.choice(names)))] = header.pop(name)
        case 5:
            length = rng.choice((0, 1, size - 1, size + 1, size * 2, 2**31, 2**40, 2**63, 2**64 - 1, 100_000_001))
        case 6 | 7:
            value = rng.choice((float("nan"), float("inf"), -float("inf"), 1e38, -1e38, 1e-45, 0.0, -1.0))
            at = begin + 4 * rng.randrange(max(1, (end - begin) // 4))
            whole = rng.random() < 0.3
            data[begin if whole else at : end if whole else at + 4] = struct.pack("<f", value) * (
                (end - begin) // 4 if whole else 1
            )
        case 8:
            header["__metadata__"] = rng.choice((*_ODD, {"format": "pt"}, {"format": 7}))
        case _:
            header = _change(header, rng, tuple(_RAW_JSON))
    encoded = _raw(json.dumps(header), _RAW_JSON).encode()
    return struct.pack("<Q", len(encoded) if length is None else length) + encoded + bytes(data)
