"""MessagePack as pyspider's queues carry it (new specification, text as str)."""

from __future__ import annotations

import struct
from typing import Any


def pack(value: Any, binary: bool = False) -> bytes:
    """`binary`: text as Python 2 packed it."""
    if value is None:
        return b"\xc0"
    if value is False or value is True:
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return b"\xcf" + struct.pack(">Q", value) if value >= 0 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        text = value.encode()
        return (b"\xc6" if binary else b"\xdb") + struct.pack(">I", len(text)) + text
    if isinstance(value, bytes):
        return b"\xc6" + struct.pack(">I", len(value)) + value
    if isinstance(value, (list, tuple)):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(pack(v, binary) for v in value)
    body = b"".join(pack(k, binary) + pack(v, binary) for k, v in value.items())
    return b"\xdf" + struct.pack(">I", len(value)) + body


def unpack(data: bytes) -> Any:
    value, end = _value(data, 0)
    if end != len(data):
        raise ValueError("something follows")
    return value


_FIXED = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
          0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_SIZED = {0xC4: (1, bytes), 0xC5: (2, bytes), 0xC6: (4, bytes), 0xD9: (1, str), 0xDA: (2, str),
          0xDB: (4, str), 0xDC: (2, list), 0xDD: (4, list), 0xDE: (2, dict), 0xDF: (4, dict)}


def _value(data: bytes, at: int) -> tuple[Any, int]:
    kind = data[at]
    at += 1
    if kind < 0x80:
        return kind, at
    if kind >= 0xE0:
        return kind - 256, at
    if kind < 0x90:
        return _items(data, at, kind & 15, dict)
    if kind < 0xA0:
        return _items(data, at, kind & 15, list)
    if kind < 0xC0:
        return _items(data, at, kind & 31, str)
    if kind in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[kind], at
    if kind in _FIXED:
        size = struct.calcsize(_FIXED[kind])
        return struct.unpack_from(_FIXED[kind], data, at)[0], at + size
    width, what = _SIZED[kind]
    return _items(data, at + width, int.from_bytes(data[at:at + width], "big"), what)


def _items(data: bytes, at: int, n: int, what: type) -> tuple[Any, int]:
    if what in (str, bytes):
        raw = data[at:at + n]
        return (raw.decode() if what is str else raw), at + n
    if what is list:
        out = []
        for _ in range(n):
            value, at = _value(data, at)
            out.append(value)
        return out, at
    table = {}
    for _ in range(n):
        key, at = _value(data, at)
        table[key], at = _value(data, at)
    return table, at
