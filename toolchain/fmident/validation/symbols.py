"""Which functions a shared library exports, read from its file: ELF, PE and Mach-O."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_MOST = 1_000_000
"""Symbols that are looked at; a damaged file may claim any number."""

_ELF_MACHINES = {3: "x86", 40: "aarch32", 62: "x86_64", 183: "aarch64"}
_PE_MACHINES = {
    0x14C: "x86",
    0x1C0: "aarch32",
    0x1C4: "aarch32",
    0x8664: "x86_64",
    0xAA64: "aarch64",
}
_MACHO_MACHINES = {7: "x86", 12: "aarch32", 0x1000007: "x86_64", 0x100000C: "aarch64"}


class UnreadableError(Exception):
    """The file is not a shared library in a format that is known here."""


@dataclass(frozen=True)
class Library:
    """What a file says of itself.

    Parameters
    ----------
    system
        ``linux``, ``windows`` or ``darwin``, by the format.
    machines
        Processors, as FMI 3.0 names them; empty strings for others.
    exports
        Names of the functions that it exports, for the first processor.
    """

    system: str
    machines: tuple[str, ...]
    exports: frozenset[str]


def read_library(data: bytes) -> Library:
    """Read the table of exported names.

    Raises
    ------
    UnreadableError
        Not a shared library, or a damaged one.
    """
    try:
        if data[:4] == b"\x7fELF":
            return _elf(data)
        if data[:2] == b"MZ":
            return _pe(data)
        return _mach_o(data)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise UnreadableError("it is damaged") from error


def _text(data: bytes, at: int) -> str:
    """Return the text at an offset, up to its zero."""
    if not 0 <= at < len(data):
        raise IndexError
    end = data.find(b"\0", at, at + 4096)
    return data[at : end if end >= 0 else at + 4096].decode("latin-1")


def _elf(data: bytes) -> Library:
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    kind, machine = struct.unpack_from(f"{order}HH", data, 16)
    if kind != 3:  # ET_DYN
        raise UnreadableError("it is an ELF file, but no shared library")
    sections = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", data, 40 if wide else 32)[0]
    size, count = struct.unpack_from(f"{order}HH", data, 58 if wide else 46)
    form = f"{order}IIQQQQIIQQ" if wide else f"{order}10I"
    headers = [struct.unpack_from(form, data, sections + i * size) for i in range(count)]
    exports: set[str] = set()
    for header in headers:
        if header[1] != 11:  # SHT_DYNSYM
            continue
        names, entry = headers[header[6]][4], struct.calcsize("<IBBHQQ" if wide else "<IIIBBH")
        for i in range(min(header[5] // entry, _MOST)):
            at = header[4] + i * entry
            if wide:
                name, info, _, section, _, _ = struct.unpack_from(f"{order}IBBHQQ", data, at)
            else:
                name, _, _, info, _, section = struct.unpack_from(f"{order}IIIBBH", data, at)
            if section != 0 and info >> 4 in (1, 2):  # defined here; global or weak
                exports.add(_text(data, names + name))
    return Library("linux", (_ELF_MACHINES.get(machine, ""),), frozenset(exports))


def _pe(data: bytes) -> Library:
    head = struct.unpack_from("<I", data, 0x3C)[0]
    if data[head : head + 4] != b"PE\0\0":
        raise UnreadableError("it is a program for DOS")
    machine, count = struct.unpack_from("<HH", data, head + 4)
    optional_size, flags = struct.unpack_from("<HH", data, head + 20)
    if not flags & 0x2000:  # IMAGE_FILE_DLL
        raise UnreadableError("it is a program for Windows, but no DLL")
    optional = head + 24
    wide = struct.unpack_from("<H", data, optional)[0] == 0x20B
    table = struct.unpack_from("<I", data, optional + (112 if wide else 96))[0]
    sections = [
        struct.unpack_from("<IIII", data, optional + optional_size + 40 * i + 8)
        for i in range(count)
    ]

    def place(address: int) -> int:
        for virtual_size, virtual, raw_size, raw in sections:
            if virtual <= address < virtual + max(virtual_size, raw_size):
                return int(address - virtual + raw)
        raise ValueError

    exports: set[str] = set()
    if table:
        directory = place(table)
        names = struct.unpack_from("<I", data, directory + 24)[0]
        pointers = place(struct.unpack_from("<I", data, directory + 32)[0]) if names else 0
        for i in range(min(names, _MOST)):
            exports.add(_text(data, place(struct.unpack_from("<I", data, pointers + 4 * i)[0])))
    return Library("windows", (_PE_MACHINES.get(machine, ""),), frozenset(exports))


def _mach_o(data: bytes) -> Library:
    magic = data[:4]
    if magic in (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"):  # for several processors
        form = ">iiQQII" if magic[3] == 0xBF else ">iiIII"
        count = struct.unpack_from(">I", data, 4)[0]
        size = struct.calcsize(form)
        parts = [struct.unpack_from(form, data, 8 + i * size) for i in range(min(count, 16))]
        read = [_mach_o_part(data[p[2] : p[2] + p[3]]) for p in parts]
        if not read:
            raise ValueError
        return Library(
            "darwin",
            tuple(r.machines[0] for r in read),
            frozenset.intersection(*(r.exports for r in read)),
        )
    return _mach_o_part(data)


def _mach_o_part(data: bytes) -> Library:
    orders = {b"\xcf\xfa\xed\xfe": ("<", True), b"\xce\xfa\xed\xfe": ("<", False)}
    if data[:4] not in orders:
        raise UnreadableError("it is neither ELF, PE nor Mach-O")
    order, wide = orders[data[:4]]
    machine, _, kind, commands = struct.unpack_from(f"{order}iIII", data, 4)
    if kind not in (6, 8):  # MH_DYLIB, MH_BUNDLE
        raise UnreadableError("it is a Mach-O file, but no library")
    at, exports = 32 if wide else 28, set[str]()
    for _ in range(min(commands, 10_000)):
        command, size = struct.unpack_from(f"{order}II", data, at)
        if command == 2:  # LC_SYMTAB
            symbols, count, names, _ = struct.unpack_from(f"{order}IIII", data, at + 8)
            entry = 16 if wide else 12
            for i in range(min(count, _MOST)):
                name, kind = struct.unpack_from(f"{order}IB", data, symbols + i * entry)
                if kind & 0x01 and kind & 0x0E and not kind & 0x10:  # external, defined, not hidden
                    exports.add(_text(data, names + name).removeprefix("_"))
        at += size
        if size < 8:
            raise ValueError
    return Library("darwin", (_MACHO_MACHINES.get(machine, ""),), frozenset(exports))
