"""The smallest shared libraries of three systems that export some names."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def names_table(names: Sequence[str], first: bytes = b"\0") -> tuple[bytes, list[int]]:
    """Return texts with zeros behind them, and where each begins."""
    table, places = first, []
    for name in names:
        places.append(len(table))
        table += name.encode() + b"\0"
    return table, places


def elf(
    names: Sequence[str], machine: int = 62, kind: int = 3, missing: Sequence[str] = ()
) -> bytes:
    """Return a library of Linux, 64 bits; `missing` are imported, not exported."""
    table, places = names_table((*names, *missing))
    symbols = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", at, 0x12, 0, 0 if i >= len(names) else 1, 0x1000, 8)
        for i, at in enumerate(places)
    )
    at = 64
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    sections = at + len(symbols) + len(table)
    header += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 0, sections, 0, 64, 0, 0, 64, 3, 0)
    dynamic = struct.pack("<IIQQQQIIQQ", 0, 11, 0, 0, at, len(symbols), 2, 1, 8, 24)
    texts = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at + len(symbols), len(table), 0, 0, 1, 0)
    return header + symbols + table + bytes(64) + dynamic + texts


def dll(names: Sequence[str], machine: int = 0x8664, flags: int = 0x2022) -> bytes:
    """Return a library of Windows, 64 bits, with one section at address 0x1000."""
    raw, address = 0x200, 0x1000
    pointers = 40
    texts_at = pointers + 4 * len(names)
    table, places = names_table(names, b"")
    section = struct.pack(
        "<IIHHIIIIIII", 0, 0, 0, 0, 0, 1, len(names), len(names), 0, address + pointers, 0
    )
    section += b"".join(struct.pack("<I", address + texts_at + p) for p in places) + table
    head = b"MZ" + bytes(0x3A) + struct.pack("<I", 0x40)
    head += b"PE\0\0" + struct.pack("<HHIIIHH", machine, 1, 0, 0, 0, 240, flags)
    optional = struct.pack("<H", 0x20B) + bytes(110) + struct.pack("<II", address, len(section))
    head += optional + bytes(240 - len(optional))
    head += (
        b".edata\0\0" + struct.pack("<IIII", len(section), address, len(section), raw) + bytes(16)
    )
    return head + bytes(raw - len(head)) + section


def dylib(names: Sequence[str], machine: int = 0x1000007, kind: int = 6) -> bytes:
    """Return a library of macOS, 64 bits; names get their underscore."""
    table, places = names_table([f"_{n}" for n in names] + ["_imported"], b" \0")
    symbols = b"".join(
        struct.pack("<IBBHQ", at, 0x01 if at == places[-1] else 0x0F, 1, 0, 0) for at in places
    )
    head = b"\xcf\xfa\xed\xfe" + struct.pack("<iIIIIII", machine, 0, kind, 1, 24, 0, 0)
    at = len(head) + 24
    command = struct.pack("<IIIIII", 2, 24, at, len(places), at + len(symbols), len(table))
    return head + command + symbols + table


def universal(first: bytes, second: bytes) -> bytes:
    """Return one file for two processors."""
    place = 8 + 2 * 20
    head = struct.pack(">II", 0xCAFEBABE, 2)
    head += struct.pack(">iiIII", 0x1000007, 3, place, len(first), 0)
    head += struct.pack(">iiIII", 0x100000C, 0, place + len(first), len(second), 0)
    return head + first + second
